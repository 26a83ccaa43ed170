package worker_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/fixtures/fakedriver"
	"agentsync/ledger"
	"agentsync/ledger/worker"
)

func TestReceiptsComeIntoTheListTogether(t *testing.T) {
	w := newWorld(t)
	var commands []worker.Queued
	for i := range 210 {
		commands = append(commands, commandIn(fmt.Sprint(i%7), fmt.Sprint(i), ledger.Rename, "title", "t"))
	}
	w.mustRun(commands...)
	if len(w.lists) != 1 || len(w.lists[0]) != 210 || len(w.observed) != 210 {
		t.Errorf("%d changes of the list, %d observed", len(w.lists), len(w.observed))
	}
	if rows, err := w.shelf.rows(); len(rows) != 200 || err != nil {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	w.quiet()
}

func TestTheListShowsACommandThatIsAtWorkForLong(t *testing.T) {
	w := newWorld(t)
	w.options.ListEvery = time.Millisecond
	w.agent.Act(func(context.Context, fakedriver.Call, collect.Milestones) (collect.Outcome, error) {
		for len(w.inList()) == 0 {
			time.Sleep(time.Millisecond)
		}
		return collect.Outcome{Status: collect.Succeeded}, nil
	})
	w.mustRun(prompt("1"))
	if got := w.inList(); len(got) != 1 || got[0].Status != "succeeded" || w.lists[0][0].Status != ledger.InFlight {
		t.Errorf("rows %+v", got)
	}
	if len(w.observed) != 1 {
		t.Errorf("observed %+v", w.observed)
	}
	w.quiet()
}

// inList reads the list while others write it.
func (w *world) inList() []note {
	w.shelf.mu.Lock()
	defer w.shelf.mu.Unlock()
	rows, err := w.shelf.rows()
	if err != nil {
		w.t.Error(err)
	}
	return rows
}

func TestAReceiptIsMarkedPublishedOnlyWhenItIsInTheList(t *testing.T) {
	w := newWorld(t)
	marked := false
	w.options.Observe = func(ledger.Receipt) { marked = len(w.ledger.Pending()) == 0 }
	w.faults.fail = func(method string, _ ledger.CommandID) (error, bool) {
		if method == "list" && len(w.ledger.Pending()) != 1 {
			t.Errorf("pending %+v before the list changes", w.ledger.Pending())
		}
		return nil, false
	}
	w.mustRun(prompt("1"))
	if !marked {
		t.Error("observed before the mark was cleared")
	}
}

func TestAnObserverThatPanicsChangesNothing(t *testing.T) {
	w := newWorld(t)
	seen := 0
	w.options.Observe = func(ledger.Receipt) { seen++; panic("no") }
	w.mustRun(prompt("1"), prompt("2"))
	w.wants("1", ledger.Succeeded, "")
	w.wants("2", ledger.Succeeded, "")
	if seen != 2 {
		t.Errorf("%d receipts observed", seen)
	}
	w.quiet()
}
