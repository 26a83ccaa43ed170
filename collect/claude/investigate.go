package claude

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"agentsync/collect"
	"agentsync/collect/value"
)

var _ collect.Investigator = (*Driver)(nil)

// Investigate looks for an operation's traces in the session's own transcript: for a
// prompt's words or its line's id, and for what says that its turn ended; for a title.
// It starts no program. What leaves no such trace stays unknown.
func (d *Driver) Investigate(ctx context.Context, nativeSessionID string, t collect.Trace) (collect.Outcome, error) {
	switch t.Operation {
	case "prompt", "start":
		return d.investigateTurn(ctx, nativeSessionID, t)
	case "rename":
		return d.investigateTitle(ctx, nativeSessionID, t)
	}
	return unproven("claude keeps nothing that tells of a " + t.Operation), nil
}

// unproven is the outcome of an investigation that proved nothing.
func unproven(message string) collect.Outcome {
	return collect.Outcome{Status: collect.Unknown, Problem: &collect.OperationProblem{
		Code: "claude-query-outcome-unknown", Message: message}}
}

func (d *Driver) investigateTurn(ctx context.Context, id string, t collect.Trace) (collect.Outcome, error) {
	snapshot, err := d.ReadSession(ctx, id, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return unproven("the source has no session of this id, so nothing tells whether the prompt reached claude"), nil
	}
	if err != nil {
		return collect.Outcome{}, fmt.Errorf("investigate: %w", err)
	}
	defer snapshot.Close()
	search := newSearch(t)
	if err := readLines(ctx, snapshot, search.read); err != nil {
		return collect.Outcome{}, fmt.Errorf("investigate claude session %s: %w", id, err)
	}
	if _, err := snapshot.Finish(); err != nil {
		return collect.Outcome{}, fmt.Errorf("investigate claude session %s: %w", id, err)
	}
	return search.verdict(), nil
}

// readLines hands a history's records out one by one, with their numbers from 1.
func readLines(ctx context.Context, snapshot collect.Snapshot, use func(line value.Value, number int)) error {
	var tape value.Tape
	for number := 1; ; number++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		tape.Reset()
		e, err := snapshot.Next(&tape)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if e.Captured.Value.Kind() == value.Record {
			use(e.Captured.Value, number)
		}
	}
}

// ending is how a turn ended, as far as its lines tell.
type ending uint8

const (
	noEnding ending = iota
	replied
	interruptedTurn
	apiError
)

// trail is one prompt that may be the one looked for, and what came of it.
type trail struct {
	uuid   string
	number int             // of its line
	lines  map[string]bool // that hang below it, by uuid
	end    ending
}

// search looks for a prompt among the lines of a transcript.
type search struct {
	prompt string
	id     string // of its line, "" when it was never learned and there is no mark to make it of
	since  int64  // milliseconds since 1970 UTC
	trails []*trail
}

func newSearch(t collect.Trace) *search {
	s := &search{prompt: t.Text, id: t.ProviderOperationID, since: t.ClaimedAt.UnixMilli()}
	if s.id == "" && t.Mark != "" {
		s.id = markedID(t.Mark)
	}
	return s
}

func (s *search) read(line value.Value, number int) {
	kind, _ := str(line, "type")
	uuid, _ := str(line, "uuid")
	if uuid == "" || truthy(line, "isSidechain") {
		return
	}
	if kind == "user" && s.is(line, uuid) {
		s.trails = append(s.trails, &trail{uuid: uuid, number: number, lines: map[string]bool{uuid: true}})
		return
	}
	parent, _ := str(line, "parentUuid")
	for _, t := range s.trails {
		if t.end == noEnding && t.lines[parent] && !isOtherPrompt(line, kind) {
			t.lines[uuid] = true
			t.end = endingIn(line, kind)
		}
	}
}

// is reports the line of the prompt: by its id or, where that is not known, by its words
// and its time.
func (s *search) is(line value.Value, uuid string) bool {
	if s.id != "" {
		return uuid == s.id
	}
	at, _ := str(line, "timestamp")
	ms, ok := parseDate(at)
	return ok && ms >= s.since && !truthy(line, "isMeta") && wordsOf(line) == s.prompt
}

func wordsOf(line value.Value) string {
	var all []string
	for text := range texts(line) {
		all = append(all, text)
	}
	return strings.Join(all, "\n")
}

const interruption = "[Request interrupted by user"

// isOtherPrompt reports a line that begins another turn.
func isOtherPrompt(line value.Value, kind string) bool {
	words := wordsOf(line)
	return kind == "user" && words != "" && !strings.HasPrefix(words, interruption) && !truthy(line, "isMeta") &&
		!truthy(line, "isCompactSummary") && !answersCall(line)
}

func answersCall(line value.Value) bool {
	for block := range line.Path("message", "content").Elements() {
		if t, _ := str(block, "type"); t == "tool_result" {
			return true
		}
	}
	return false
}

// endingIn tells whether a line of a turn ends it. A reply does when the model said that
// it was its last; the client's own words, such as those by which it goes on after a turn
// that broke off, end nothing.
func endingIn(line value.Value, kind string) ending {
	message := line.Path("message")
	switch kind {
	case "user":
		if strings.HasPrefix(wordsOf(line), interruption) {
			return interruptedTurn
		}
	case "assistant":
		if truthy(line, "isApiErrorMessage") {
			return apiError
		}
		model, _ := str(message, "model")
		reason, _ := str(message, "stop_reason")
		if model != "<synthetic>" && (reason == "end_turn" || reason == "stop_sequence") {
			return replied
		}
	}
	return noEnding
}

// verdict is what the trails prove. Several prompts of the same words prove something
// only when all ended alike, since nobody knows which one it was.
func (s *search) verdict() collect.Outcome {
	if len(s.trails) == 0 && s.id != "" {
		return unproven("the transcript was read to its end and has no prompt of this turn's id")
	}
	if len(s.trails) == 0 {
		return unproven("the transcript was read to its end and has no such prompt at or after the time of the claim")
	}
	first := s.trails[0]
	for _, t := range s.trails[1:] {
		if t.end != first.end {
			return unproven(fmt.Sprintf("the transcript has %d such prompts that ended differently", len(s.trails)))
		}
	}
	o := collect.Outcome{ProviderOperationID: first.uuid, Result: value.NewBuilder().Record().
		Key("evidence").String("transcript").Key("promptLine").Int(int64(first.number)).End().Finish()}
	if len(s.trails) > 1 {
		o.ProviderOperationID = ""
	}
	problem := func(status collect.Status, code, message string) collect.Outcome {
		o.Status, o.Problem = status, &collect.OperationProblem{Code: code, Message: message}
		return o
	}
	switch first.end {
	case replied:
		o.Status = collect.Succeeded
		return o
	case interruptedTurn:
		return problem(collect.Failed, "cancelled", "the transcript says that the prompt was interrupted")
	case apiError:
		return problem(collect.Failed, "claude-query-failed", "the transcript says that the model's server answered with an error")
	}
	return problem(collect.Unknown, "claude-query-outcome-unknown",
		"the transcript has the prompt, but neither a last reply nor an interruption nor an error after it")
}

// investigateTitle looks whether the session has the title. A title line bears no time,
// so a session without it may have had it and lost it.
func (d *Driver) investigateTitle(ctx context.Context, id string, t collect.Trace) (collect.Outcome, error) {
	summary, err := d.Summarize(ctx, id)
	if errors.Is(err, fs.ErrNotExist) {
		return unproven("the source has no session of this id, so nothing tells whether the title was written"), nil
	}
	if err != nil {
		return collect.Outcome{}, fmt.Errorf("investigate: %w", err)
	}
	if title, _ := str(summary.Raw, "customTitle"); title == trim(t.Title) && title != "" {
		return collect.Outcome{Status: collect.Succeeded, Result: value.NewBuilder().Record().
			Key("evidence").String("transcript").End().Finish()}, nil
	}
	return unproven("the session's title in its transcript is another"), nil
}
