//go:build !windows

package claude

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
)

// newDesktop makes a source whose starts are opened by a script, which keeps the link.
func newDesktop(t *testing.T, script string, kept memory) (w *workshop, link string) {
	t.Helper()
	folder := t.TempDir()
	link, opener := filepath.Join(folder, "link"), filepath.Join(folder, "open")
	if err := os.WriteFile(opener, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	w = newWorkshop(t, "", func(c *collect.SourceConfig, e *collect.Env) {
		e.Now, e.Memory = noon, kept
		c.Opener = []string{opener, link}
	})
	return w, link
}

const keepsLink = `printf %s "$2" > "$1"`

// appSession is what the app writes when the person sends the prompt.
func (w *workshop) appSession(id, prompt, dir string, at time.Time) {
	w.t.Helper()
	line := strings.ReplaceAll(turn("user", "u1", "", prompt), "/home/dev/proj", dir)
	line = strings.ReplaceAll(line, "2026-11-30T08:00:00.000Z", at.UTC().Format(isoMillis))
	w.putAt("-app/"+id+".jsonl", line, at.Add(time.Second))
}

func (w *workshop) startedAs(id string) string {
	w.t.Helper()
	inventory(w.t, w.driver)
	s, err := w.driver.Summarize(context.Background(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return s.StartedAs
}

func TestADesktopStartOpensALinkAndIsPairedLater(t *testing.T) {
	kept := memory{}
	w, link := newDesktop(t, keepsLink, kept)
	prompt := "Look  at\nthis & that + more? ü"
	w.appSession(u(1), prompt, w.dir, noon.Add(time.Second)) // there already
	m := &stones{}
	o, err := w.driver.StartSession(context.Background(), u(7), collect.StartInput{PromptInput: collect.PromptInput{Text: prompt}, Cwd: w.dir}, m)
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, o, collect.Succeeded, "")
	if ready, begun := m.seen(); ready+begun != 0 || !o.Untouched || canonical(o.Result) != `{"affectedSession":null,"cwd":`+quote(w.dir)+`}` {
		t.Errorf("milestones %d %d, outcome %+v", ready, begun, o)
	}
	opened, err := os.ReadFile(link)
	if err != nil {
		t.Fatal(err)
	}
	l, err := url.Parse(string(opened))
	if err != nil || l.Scheme+"://"+l.Host+l.Path != "claude://code/new" || l.Query().Get("q") != prompt || l.Query().Get("folder") != w.dir {
		t.Errorf("link %s %v", opened, err)
	}
	for key, text := range kept {
		if strings.Contains(text, "this") {
			t.Errorf("the prompt is remembered under %v", key)
		}
	}
	if n := len(w.logged("args")); n != 0 {
		t.Errorf("the program was run %d times", n)
	}

	w.appSession(u(2), prompt, w.dir, noon.Add(-time.Second))            // too old
	w.appSession(u(3), prompt, t.TempDir(), noon.Add(2*time.Second))     // elsewhere
	w.appSession(u(4), "Something else", w.dir, noon.Add(2*time.Second)) // another prompt
	w.appSession(u(5), "Look at this & that + more? ü", w.dir, noon.Add(3*time.Second))
	w.appSession(u(6), prompt, w.dir, noon.Add(4*time.Second)) // the start is paired by now
	for n, want := range map[int]string{1: "", 2: "", 3: "", 4: "", 5: u(7), 6: ""} {
		if got := w.startedAs(u(n)); got != want {
			t.Errorf("session %d is started as %q, want %q", n, got, want)
		}
	}
	if got := read(t, w.driver, u(5), nil).trailer.Summary.StartedAs; got != u(7) {
		t.Errorf("its history says %q", got)
	}
	later, err := New(w.driver.config, collect.Env{Now: noon.Add(48 * time.Hour), Memory: kept})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := later.Summarize(context.Background(), u(5)); err != nil || s.StartedAs != u(7) {
		t.Errorf("two days later: %q %v", s.StartedAs, err)
	}
}

func TestADesktopStartIsForgottenAfterADay(t *testing.T) {
	kept := memory{}
	w, _ := newDesktop(t, keepsLink, kept)
	in := collect.StartInput{PromptInput: collect.PromptInput{Text: "Look."}, Cwd: w.dir}
	wantOutcome(t, w.start(u(7), in), collect.Succeeded, "")
	w.appSession(u(1), "Look.", w.dir, noon.Add(25*time.Hour))
	w.driver.env.Now = noon.Add(25 * time.Hour)
	if got := w.startedAs(u(1)); got != "" {
		t.Errorf("paired with %s", got)
	}
}

func TestDesktopStartsThatCannotBe(t *testing.T) {
	for _, row := range []struct {
		name, script string
		change       func(w *workshop, in *collect.StartInput)
		status       collect.Status
		code         string
	}{
		{"a mode", keepsLink, func(_ *workshop, in *collect.StartInput) { in.Mode = "plan" }, collect.Unsupported, "claude-desktop-mode-unsupported"},
		{"a long prompt", keepsLink, func(_ *workshop, in *collect.StartInput) { in.Text = strings.Repeat("x", 14337) }, collect.Failed, "claude-desktop-prompt-too-long"},
		{"the longest prompt", keepsLink, func(_ *workshop, in *collect.StartInput) { in.Text = strings.Repeat("x", 14336) }, collect.Succeeded, ""},
		{"a folder that is not there", keepsLink, func(w *workshop, in *collect.StartInput) { in.Cwd = w.dir + "/none" }, collect.Failed, "claude-desktop-cwd-not-directory"},
		{"no opener", keepsLink, func(w *workshop, _ *collect.StartInput) { w.driver.config.Opener = []string{"/home/dev/none"} }, collect.Failed, "claude-desktop-not-installed"},
		{"an opener that fails", "exit 3", func(*workshop, *collect.StartInput) {}, collect.Failed, "claude-desktop-open-failed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			kept := memory{}
			w, _ := newDesktop(t, row.script, kept)
			in := collect.StartInput{PromptInput: collect.PromptInput{Text: "Look."}, Cwd: w.dir}
			row.change(w, &in)
			wantOutcome(t, w.start(u(7), in), row.status, row.code)
			if waiting, err := w.driver.pending(); err != nil || len(waiting) > 0 != (row.status == collect.Succeeded) {
				t.Errorf("pending starts %v %v", waiting, err)
			}
		})
	}
}
