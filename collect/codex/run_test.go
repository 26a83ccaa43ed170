package codex

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"agentsync/collect"
)

func TestNewsBeforeTheAnswerIsKeptAndBounded(t *testing.T) {
	r := newRun()
	r.observe(turnNews{"own", ending{status: "completed"}})
	for n := range keptNews - 1 {
		r.observe(turnNews{fmt.Sprint("other ", n), ending{status: "failed"}})
	}
	if len(r.early) != keptNews {
		t.Fatalf("%d are kept", len(r.early))
	}
	r.observe(turnNews{"one more", ending{status: "failed"}})
	if len(r.early) != keptNews || r.early[0].turn == "own" {
		t.Errorf("%d are kept, from %q on", len(r.early), r.early[0].turn)
	}
	r = newRun()
	r.observe(turnNews{"other", ending{status: "failed"}})
	r.observe(turnNews{"own", ending{}})
	r.expect(nil, "thread", "own")
	<-r.begun
	select {
	case <-r.ended:
		t.Error("another turn's end is taken for the run's")
	default:
	}
	r.observe(turnNews{"other", ending{status: "failed"}})
	r.observe(turnNews{"own", ending{status: "completed"}})
	r.observe(turnNews{"own", ending{status: "interrupted"}})
	<-r.ended
	if r.end.status != "completed" {
		t.Errorf("the end is %q, not the first that was told", r.end.status)
	}
}

func TestNotificationsOfOthersAreNotKept(t *testing.T) {
	var l runs
	r := newRun()
	if !l.admit("thread", r) || l.admit("thread", newRun()) {
		t.Fatal("a thread has one run")
	}
	for _, one := range [][2]string{
		{"item/completed", `{"threadId":"thread","turn":{"id":"a"}}`},
		{"turn/completed", `{"threadId":"other","turn":{"id":"a"}}`},
		{"turn/completed", `not even JSON`},
		{"turn/completed", `{"threadId":7}`},
	} {
		l.heard(one[0], json.RawMessage(one[1]))
	}
	if len(r.early) != 0 {
		t.Errorf("kept %v", r.early)
	}
	l.heard("turn/completed", json.RawMessage(`{"threadId":"thread","turn":{"id":"a","status":"failed","error":{"message":"secret words","codexErrorInfo":{"httpConnectionFailed":{"httpStatusCode":503}}}}}`))
	if want := []turnNews{{"a", ending{"failed", "httpConnectionFailed"}}}; !slices.Equal(r.early, want) {
		t.Errorf("kept %v, want %v", r.early, want)
	}
	if got := wordOf("not a word, but words"); got != "" {
		t.Errorf("%q passes for a word", got)
	}
}

func TestTheServersThreadsAreListedPageByPage(t *testing.T) {
	t.Parallel()
	cfg := fakeConfig(t, "")
	for n := range 3 {
		write(t, cfg.CodexHome, madeName(n+1), metaLine(at, madeID(n+1), "")+
			line(at, "event_msg", `{"type":"task_started","turn_id":"`+madeID(n+1)+`"}`)+
			line(at, "event_msg", `{"type":"item_completed","turn_id":"`+madeID(n+1)+`","item":{"type":"UserMessage","content":[{"type":"text","text":"Prompt `+fmt.Sprint(n)+`"}]}}`)+
			line(at, "event_msg", `{"type":"task_complete","turn_id":"`+madeID(n+1)+`"}`))
	}
	cfg.CodexTransport = transportProxy
	cfg.Roots = []string{t.TempDir()} // no file of the threads is here
	d := fakeDriver(t, cfg)
	s, err := d.live.reach(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var cursors, ids []string
	for cursor := ""; ; {
		page, next, err := s.inventory(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, thread := range page {
			ids = append(ids, thread.ID)
		}
		if cursor = next; cursor == "" {
			break
		}
		cursors = append(cursors, cursor)
	}
	if want := []string{madeID(1), madeID(2), madeID(3)}; !slices.Equal(ids, want) {
		t.Errorf("threads %q", ids)
	}
	if want := []string{"active:page 1", "active:page 2", "archived:"}; !slices.Equal(cursors, want) {
		t.Errorf("cursors %q", cursors)
	}
	if _, _, err := s.inventory(t.Context(), "elsewhere:1"); !errors.Is(err, errCursor) {
		t.Errorf("a foreign cursor: %v", err)
	}
	found, err := d.Investigate(t.Context(), "asked", collect.Trace{Operation: "start", Text: "Prompt 2",
		ClaimedAt: time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)})
	if err != nil || found.Status != collect.Succeeded || found.Session != madeID(3) {
		t.Errorf("found %+v, %v", found, err)
	}
	found, err = d.Investigate(t.Context(), madeID(9), collect.Trace{Operation: "prompt", Text: "Prompt 2"})
	if err != nil || found.Status != collect.Unknown {
		t.Errorf("found %+v, %v", found, err)
	}
}
