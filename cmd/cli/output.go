package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// output is the one way to the person or program that reads a pass. Results go to
// standard output, diagnostics and progress to standard error.
type output struct {
	results  *resultWriter
	errors   io.Writer
	asJSON   bool
	quiet    bool
	width    int
	progress *meter // the line that must be cleared before another is printed
	failures int    // items reported by problem
	stopped  bool   // of them, one at least was stopped by a guard
	summary  []byte // of JSON, held back until the run ends: it is the last line
}

// errorObject is the JSON form of a failure.
type errorObject struct {
	Type      string `json:"message_type"`
	Code      string `json:"code"`
	Message   string `json:"message"`
	Hint      string `json:"hint,omitempty"`
	Retryable bool   `json:"retryable"`
	Source    string `json:"source,omitempty"`
	Session   string `json:"session,omitempty"`
	Path      string `json:"path,omitempty"`
}

// object writes one JSON line. v is a struct whose first field is its message_type. A
// summary waits for the end of the run, so that whatever else is told stands before it.
func (o *output) object(v any) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("encode a result: %w", err)
	}
	text := escapeControls(line.Bytes())
	if !bytes.HasPrefix(text, []byte(summaryLead)) {
		_, err := o.results.Write(text)
		return err
	}
	if o.summary != nil {
		return errors.New("a run has two summaries")
	}
	o.summary = bytes.TrimSuffix(text, []byte("}\n"))
	return nil
}

const summaryLead = `{"message_type":"summary"`

// sumUp writes the summary, with the number the process ends with. A run that failed
// before it counted anything has one of the number alone.
func (o *output) sumUp(code exitCode) {
	if !o.asJSON {
		return
	}
	if o.summary == nil {
		o.summary = []byte(summaryLead)
	}
	// A result that cannot be written is noticed when the output is closed.
	_, _ = fmt.Fprintf(o.results, "%s,\"exit\":%d}\n", o.summary, code)
}

// textObject is text that is made for people or shells, in JSON.
type textObject struct {
	Type string `json:"message_type"`
	Text string `json:"text"`
}

// text writes what a verb prints as it is, such as a script.
func (o *output) text(text string) error {
	if o.asJSON {
		return o.object(textObject{"text", text})
	}
	return o.raw(text)
}

// escapeControls escapes what JSON allows raw and terminals obey: DEL, the C1 control
// characters, and those that turn the direction of text.
func escapeControls(line []byte) []byte {
	hidden := func(r rune) bool { return r >= 0x7f && visible(r) != r }
	if bytes.IndexFunc(line, hidden) < 0 {
		return line
	}
	var b bytes.Buffer
	for _, r := range string(line) {
		if hidden(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.Bytes()
}

// line writes one line of results for people, cut to nothing: what it says must fit.
func (o *output) line(format string, args ...any) error {
	o.progress.hide()
	_, err := fmt.Fprintln(o.results, printable(fmt.Sprintf(format, args...)))
	return err
}

// raw writes text of others that was made fit for a terminal.
func (o *output) raw(text string) error {
	o.progress.hide()
	_, err := io.WriteString(o.results, text)
	return err
}

// table writes a table for people.
func (o *output) table(t *table) error {
	for _, line := range t.lines(o.width) {
		if err := o.line("%s", line); err != nil {
			return err
		}
	}
	return nil
}

// note writes what people may like to know, unless they asked for quiet or JSON.
func (o *output) note(format string, args ...any) error {
	if o.quiet || o.asJSON {
		return nil
	}
	return o.line(format, args...)
}

// diagnose writes one line to standard error; the results so far come first.
func (o *output) diagnose(kind, text string) {
	_ = o.results.Flush()
	o.progress.hide()
	fmt.Fprintf(o.errors, "agentsync: %s: %s\n", kind, strings.ReplaceAll(printable(text), "\n", " "))
}

// warn tells of something that the pass can live with.
func (o *output) warn(format string, args ...any) {
	if !o.quiet {
		o.diagnose("warning", fmt.Sprintf(format, args...))
	}
}

// problem reports one item that is missing from the pass and makes it partial.
func (o *output) problem(f *failure) {
	o.failures++
	o.stopped = o.stopped || f.exit == exitStopped
	o.report(f)
}

// partial is errPartial when a problem was reported, or the end of a guard when one stopped
// something, else nil.
func (o *output) partial() error {
	switch {
	case o.stopped:
		return reported(exitStopped)
	case o.failures > 0:
		return errPartial
	}
	return nil
}

// report prints a failure: a line, a hint, and in JSON mode an object.
func (o *output) report(f *failure) {
	if o.asJSON {
		code := f.code
		if code == "" {
			code = f.exit.word()
		}
		// A result that cannot be written is noticed when the output is closed.
		_ = o.object(errorObject{"error", code, f.Error(), f.hint, f.retryable, f.source, f.session, f.path})
	}
	if o.quiet && f.exit == exitLocked { // a timer's next run: its exit code says it all
		return
	}
	o.diagnose("error", f.Error())
	if f.hint != "" {
		o.diagnose("hint", f.hint)
	}
}

// end reports how a run ended, writes out what is buffered, and returns the exit code.
func (o *output) end(ctx context.Context, err error) exitCode {
	code, f := exitOf(ctx, err)
	if f != nil {
		o.report(f)
	}
	o.progress.hide()
	o.sumUp(code)
	if err := o.results.Flush(); err != nil && !errors.Is(err, errOutputClosed) {
		fmt.Fprintf(o.errors, "agentsync: error: write the results: %v\n", err)
		if code == exitDone {
			code = exitFailed
		}
	}
	return code
}
