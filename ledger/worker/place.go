package worker

import (
	"path/filepath"
	"slices"

	"agentsync/collect"
	"agentsync/collect/value"
	"agentsync/ledger"
)

// The codes of starts that are not to stand where they ask to.
const (
	codeOutside    = "start-outside-folders"
	codeUnresolved = "start-folder-unresolved"
)

// Below reports a folder that is another one or lies in it. Both are absolute.
func Below(folder, above string) bool {
	rel, err := filepath.Rel(above, folder)
	return err == nil && filepath.IsLocal(rel)
}

// place judges where a start asks to stand, with links and dots resolved. It returns an
// outcome for one that is not run, and whether one that is stands outside of its source's
// folders. What names no folder stands where the source says.
func (w *Worker) place(q Queued) (refused *collect.Outcome, outside bool) {
	in, err := q.StartInput()
	if err != nil || in.Cwd == "" || w.o.Resolve == nil {
		return nil, false
	}
	allowed, free := q.Folders, false
	if q.Producer == "" {
		if allowed, err = w.o.Folders(q.SourceID); err == nil && len(allowed) == 0 {
			return nil, false
		}
		free = q.Force
	}
	if err != nil && !free {
		return notPlaced(codeUnresolved, "the folders of the source cannot be told: "+short(err, q), true), false
	}
	within, err := w.within(in.Cwd, allowed)
	switch {
	case within:
		return nil, false
	case free:
		return nil, true
	case err != nil:
		return notPlaced(codeUnresolved, "the folder of the start is not there, or cannot be resolved", true), false
	case q.Producer == "":
		return notPlaced(codeOutside, "the folder of the start is outside of the source's folders, and the command is not forced", false), false
	}
	return notPlaced(codeOutside, "the folder of the start is outside of the folders that its producer's binding names", false), false
}

// within reports a folder that lies below one of some, for those who follow its links before
// its dots, as the system does, and for those who take its dots away first, as agents may.
func (w *Worker) within(folder string, above []string) (bool, error) {
	for _, path := range []string{folder, filepath.Clean(folder)} {
		real, err := w.o.Resolve(path)
		if err != nil {
			return false, err
		}
		if !slices.ContainsFunc(above, func(one string) bool {
			one, err := w.o.Resolve(one)
			return err == nil && Below(real, one)
		}) {
			return false, nil
		}
	}
	return true, nil
}

func notPlaced(code, message string, retryable bool) *collect.Outcome {
	return &collect.Outcome{Status: collect.Failed, Untouched: true,
		Problem: &collect.OperationProblem{Code: code, Message: message, Retryable: retryable}}
}

// outsideKey says in a receipt's result that a start stands outside of its source's folders.
const outsideKey = "outsideFolders"

// saidOutside adds to an outcome that its start stands outside.
func saidOutside(o collect.Outcome) collect.Outcome {
	b := value.NewBuilder().Record()
	if o.Result.Kind() == value.Record {
		for key, v := range o.Result.Members() {
			b.Key(string(key)).Value(v)
		}
	}
	b.Key(outsideKey).Bool(true)
	o.Result = b.End().Finish()
	return o
}

// performPlaced performs a command, where its start may stand there.
func (w *Worker) performPlaced(t *task, claim ledger.Receipt) collect.Outcome {
	if t.Type != ledger.Start {
		return w.perform(t, claim)
	}
	refused, outside := w.place(t.Queued)
	switch {
	case refused != nil:
		return *refused
	case outside:
		return saidOutside(w.perform(t, claim))
	}
	return w.perform(t, claim)
}
