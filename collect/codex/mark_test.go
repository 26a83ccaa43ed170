package codex

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
)

// The forms in which codex-cli 0.171.0 keeps a message: beside the response_item, which
// has no mark, an event that has one if the client gave it.
func markedText(mark, words string) string {
	said := fmt.Sprintf(`{"type":"item_completed","item":{"type":"UserMessage","client_id":%q,"content":[{"type":"text","text":%q}]}}`, mark, words)
	return strings.SplitAfterN(userText(madeAt, words), "\n", 2)[0] + line(madeAt, "event_msg", said)
}

// markedOld is the form of a thread whose history mode is legacy.
func markedOld(mark, words string) string {
	return strings.SplitAfterN(userText(madeAt, words), "\n", 2)[0] +
		line(madeAt, "event_msg", fmt.Sprintf(`{"type":"user_message","client_id":%q,"message":%q}`, mark, words))
}

// wholeTurn is a whole turn around its messages.
func wholeTurn(n int, messages ...string) string {
	return line(madeAt, "event_msg", `{"type":"task_started","turn_id":"`+madeID(n)+`"}`) + strings.Join(messages, "") +
		line(madeAt, "event_msg", `{"type":"task_complete","turn_id":"`+madeID(n)+`"}`)
}

// failedTurn is a whole turn that the agent says has failed.
func failedTurn(n int, message string) string {
	return strings.TrimSuffix(wholeTurn(n, message), "}}\n") + `,"error":{"codex_error_info":"other"}}}` + "\n"
}

// beforeMade and afterMade are claims before and after everything in the made files.
var (
	beforeMade = time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	afterMade  = beforeMade.Add(time.Hour)
)

const mine = `agentsync command "7"`

func TestAMarkIsBetterEvidenceThanTheText(t *testing.T) {
	for name, one := range map[string]struct {
		lines   string
		claimed time.Time
		status  collect.Status
		turn    int
		says    string
	}{
		"its mark":                              {wholeTurn(11, markedText(mine, "Go on.")), beforeMade, collect.Succeeded, 11, ""},
		"its mark in a legacy thread":           {wholeTurn(11, markedOld(mine, "Go on.")), afterMade, collect.Succeeded, 11, ""},
		"its mark by another clock":             {wholeTurn(11, markedText(mine, "Go on.")), afterMade, collect.Succeeded, 11, ""},
		"its mark on a text that was changed":   {wholeTurn(11, markedText(mine, "Go back.")), beforeMade, collect.Succeeded, 11, ""},
		"its mark, and its text of a person":    {wholeTurn(11, markedText(mine, "Go on.")) + wholeTurn(12, userText(madeAt, "Go on.")), beforeMade, collect.Succeeded, 11, ""},
		"its text of a person, and its mark":    {wholeTurn(11, userText(madeAt, "Go on.")) + failedTurn(12, markedText(mine, "Go on.")), beforeMade, collect.Failed, 12, ""},
		"its mark in a turn that it joined":     {wholeTurn(11, markedText("other", "Begin."), markedText(mine, "Go on.")), beforeMade, collect.Succeeded, 11, ""},
		"its mark twice in a turn":              {wholeTurn(11, markedText(mine, "Go on."), markedText(mine, "Go on.")), beforeMade, collect.Succeeded, 11, ""},
		"its mark on two turns":                 {wholeTurn(11, markedText(mine, "Go on.")) + wholeTurn(12, markedText(mine, "Go on.")), beforeMade, collect.Unknown, 0, "several turns have this prompt's mark"},
		"its text with another's mark":          {wholeTurn(11, markedText("other", "Go on.")), beforeMade, collect.Unknown, 0, "keeps the marks"},
		"its text where another's mark is":      {wholeTurn(11, userText(madeAt, "Go on.")) + wholeTurn(12, markedText("other", "Begin.")), beforeMade, collect.Unknown, 0, "keeps the marks"},
		"its text where another's mark was":     {wholeTurn(11, markedText("", "Begin.")) + wholeTurn(12, userText(madeAt, "Go on.")), beforeMade, collect.Unknown, 0, "keeps the marks"},
		"its text where no marks are":           {wholeTurn(11, userText(madeAt, "Go on.")), beforeMade, collect.Succeeded, 11, ""},
		"its text before the claim":             {wholeTurn(11, userText(madeAt, "Go on.")), afterMade, collect.Unknown, 0, "no such turn"},
		"its text twice where no marks are":     {wholeTurn(11, userText(madeAt, "Go on.")) + wholeTurn(12, userText(madeAt, "Go on.")), beforeMade, collect.Unknown, 0, "several turns since the claim"},
		"its text alone when the program ended": {firstLines(wholeTurn(11, markedText(mine, "Go on.")), 2), beforeMade, collect.Unknown, 11, "has no end"},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			write(t, home, madeName(1), metaLine(madeAt, madeID(1), "")+one.lines)
			found, err := driverOf(t, home).Investigate(t.Context(), madeID(1),
				collect.Trace{Operation: "prompt", Text: "Go on.", Mark: mine, ClaimedAt: one.claimed})
			if err != nil {
				t.Fatal(err)
			}
			turn, says := "", ""
			if one.turn != 0 {
				turn = madeID(one.turn)
			}
			if found.Problem != nil {
				says = found.Problem.Message
			}
			if found.Status != one.status || found.ProviderOperationID != turn || !strings.Contains(says, one.says) {
				t.Errorf("%s of turn %q: %s", found.Status, found.ProviderOperationID, says)
			}
		})
	}
}

func firstLines(text string, n int) string {
	return strings.Join(strings.SplitAfter(text, "\n")[:n], "")
}

func TestATurnThatIsKnownNeedsNoMark(t *testing.T) {
	home := t.TempDir()
	write(t, home, madeName(1), metaLine(madeAt, madeID(1), "")+wholeTurn(11, userText(madeAt, "Go on."))+wholeTurn(12, markedText(mine, "Go on.")))
	trace := collect.Trace{Operation: "prompt", Text: "Go on.", Mark: mine, ClaimedAt: beforeMade, ProviderOperationID: madeID(11)}
	o, err := driverOf(t, home).Investigate(t.Context(), madeID(1), trace)
	if err != nil || o.Status != collect.Succeeded || o.ProviderOperationID != madeID(11) {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestAPromptWithoutAMarkIsKnownByItsTextBesideOthersMarks(t *testing.T) {
	home := t.TempDir()
	write(t, home, madeName(1), metaLine(madeAt, madeID(1), "")+wholeTurn(11, markedText("other", "Begin."))+wholeTurn(12, userText(madeAt, "Go on.")))
	o, err := driverOf(t, home).Investigate(t.Context(), madeID(1), collect.Trace{Operation: "prompt", Text: "Go on.", ClaimedAt: beforeMade})
	if err != nil || o.Status != collect.Succeeded || o.ProviderOperationID != madeID(12) {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestAForksCopyOfAMarkIsNotItsOwn(t *testing.T) {
	home := t.TempDir()
	write(t, home, madeName(5), metaLine(madeAt, madeID(5), `,"forked_from_id":"`+madeID(1)+`"`)+metaLine(madeAt, madeID(1), "")+
		wholeTurn(2, markedText(mine, "Go on."))+wholeTurn(6, userText(madeAt, "Begin.")))
	o, err := driverOf(t, home).Investigate(t.Context(), madeID(5), collect.Trace{Operation: "prompt", Text: "Begin.", Mark: mine, ClaimedAt: beforeMade})
	if err != nil || o.Status != collect.Succeeded || o.ProviderOperationID != madeID(6) {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestAStartIsKnownByItsMark(t *testing.T) {
	trace := collect.Trace{Operation: "start", Text: "Begin.", Mark: mine, Cwd: "/home/dev/proj/", ClaimedAt: beforeMade}
	for name, one := range map[string]struct {
		threads map[int]string // beginning of each, by number
		status  collect.Status
		session int
	}{
		"its mark":                           {map[int]string{5: markedText(mine, "Begin.")}, collect.Succeeded, 5},
		"its mark, and its text of a person": {map[int]string{5: markedText(mine, "Begin."), 6: userText(madeAt, "Begin.")}, collect.Succeeded, 5},
		"its text of a person, and its mark": {map[int]string{5: userText(madeAt, "Begin."), 6: markedText(mine, "Begin.")}, collect.Succeeded, 6},
		"its mark on two threads":            {map[int]string{5: markedText(mine, "Begin."), 6: markedText(mine, "Begin.")}, collect.Unknown, 0},
		"its text where no marks are":        {map[int]string{5: userText(madeAt, "Begin.")}, collect.Succeeded, 5},
		"its text beside another's mark":     {map[int]string{5: userText(madeAt, "Begin."), 6: markedText("other", "Hello.")}, collect.Unknown, 0},
		"its text with another's mark":       {map[int]string{5: markedText("other", "Begin.")}, collect.Unknown, 0},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			for n, said := range one.threads {
				write(t, home, madeName(n), metaLine(madeAt, madeID(n), "")+wholeTurn(n, said))
			}
			found, err := driverOf(t, home).Investigate(t.Context(), "asked", trace)
			if err != nil {
				t.Fatal(err)
			}
			session := ""
			if one.session != 0 {
				session = madeID(one.session)
			}
			if found.Status != one.status || found.Session != session {
				t.Errorf("%s, thread %q (%v)", found.Status, found.Session, found.Problem)
			}
		})
	}
}

func TestTheServersTurnsAreKnownByTheirMarks(t *testing.T) {
	turn := func(n int, mark *string, words string) wireTurn {
		var item wireItem
		item.Type, item.ClientID = "userMessage", mark
		item.Content = append(item.Content, struct {
			Text string `json:"text"`
		}{words})
		at := float64(beforeMade.Unix() + 60)
		return wireTurn{ID: madeID(n), Status: "completed", StartedAt: at, CompletedAt: at, Items: []wireItem{item}}
	}
	own, other := mine, "other"
	for name, one := range map[string]struct {
		turns  []wireTurn
		status collect.Status
		turn   string
	}{
		"its mark":                           {[]wireTurn{turn(11, &own, "Changed.")}, collect.Succeeded, madeID(11)},
		"its mark, and its text of a person": {[]wireTurn{turn(11, &own, "Go on."), turn(12, nil, "Go on.")}, collect.Succeeded, madeID(11)},
		"its mark twice":                     {[]wireTurn{turn(11, &own, "Go on."), turn(12, &own, "Go on.")}, collect.Unknown, ""},
		"its text where no marks are":        {[]wireTurn{turn(11, nil, "Go on.")}, collect.Succeeded, madeID(11)},
		"its text where marks are":           {[]wireTurn{turn(11, nil, "Go on."), turn(12, &other, "Begin.")}, collect.Unknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := judgeThread(collect.Trace{Operation: "prompt", Text: "Go on.", Mark: mine, ClaimedAt: beforeMade}, wireThread{Turns: one.turns})
			if o.Status != one.status || o.ProviderOperationID != one.turn {
				t.Errorf("%s of turn %q (%v)", o.Status, o.ProviderOperationID, o.Problem)
			}
		})
	}
}

// The stand-in keeps the mark where the real agent does, in spite of its end.
func TestAPromptWhoseOutcomeNobodySawIsFoundByItsMark(t *testing.T) {
	t.Parallel()
	for name, transport := range map[string]string{"from its file": transportStdio, "from the server": transportProxy} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := fakeConfig(t, "")
			cfg.CodexTransport = transport
			writeThread(t, cfg.CodexHome)
			d := fakeDriver(t, cfg)
			lost := collect.PromptInput{Text: "Go on. [[fake: no-turn-id]]", Mark: mine}
			o, err := d.Prompt(t.Context(), madeID(1), lost, newMilestones())
			if err != nil {
				t.Fatal(err)
			}
			wantOutcome(t, o, collect.Unknown, codeMissingTurn)
			if transport == transportProxy {
				served := cfg.CodexHome
				cfg.CodexHome = t.TempDir() // the files are elsewhere
				d = fakeDriver(t, cfg)
				d.live.launch.env = append(d.live.launch.env, "CODEX_HOME="+served)
			}
			trace := collect.Trace{Operation: "prompt", Text: lost.Text, Mark: mine, ClaimedAt: time.Now().Add(time.Hour)}
			found := judgedTurn(t, d, trace)
			wantOutcome(t, found, collect.Succeeded, "")
			if from := found.Result.Path("history").Str(); (from == fromServer) != (transport == transportProxy) {
				t.Errorf("the history was read from %q", from)
			}
			trace.Mark, trace.ClaimedAt = "other", beforeMade
			if found, err = d.Investigate(t.Context(), madeID(1), trace); err != nil {
				t.Fatal(err)
			}
			wantOutcome(t, found, collect.Unknown, codeNoEvidence)
		})
	}
}

// judgedTurn investigates until something is proven: the turn runs on without the driver.
func judgedTurn(t *testing.T, d *Driver, trace collect.Trace) collect.Outcome {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		o, err := d.Investigate(t.Context(), madeID(1), trace)
		if err != nil {
			t.Fatal(err)
		}
		if o.Status != collect.Unknown || time.Now().After(deadline) {
			return o
		}
	}
}
