package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"agentsync/collect"
	"agentsync/collect/drivers"
	"agentsync/ledger"
	"agentsync/ledger/durable"
	"agentsync/publish"
	"agentsync/publish/document"
)

// foldersKey is under what a source's memory keeps the folders it was published from.
const foldersKey = "folders"

// origin is where a source lies whose folder no configuration names: what the surroundings
// tell now, and where it was published from before. A timer may lack the variable that
// named the folder, and another folder in its stead is none.
type origin struct {
	id    string
	found collect.SourceConfig // as the surroundings tell it
	here  string               // the folder they tell, "" when it is not there
	known []string             // those it was published from
}

func newOrigin(found collect.SourceConfig, here string, m collect.Memory) origin {
	p := origin{found: found, here: here}
	var err error
	if p.id, err = collect.SourceID(found.ID); err != nil || m == nil {
		return p // a driver of that id cannot be made, which is told
	}
	if text, ok := m.Recall(p.id, "", foldersKey); ok {
		// What cannot be understood was written by another version; nothing is known then.
		_ = json.Unmarshal([]byte(text), &p.known)
	}
	return p
}

// folders are all that belong to the source, in the order in which they came.
func (p origin) folders() []string {
	if p.here == "" || slices.Contains(p.known, p.here) {
		return p.known
	}
	return append(slices.Clone(p.known), p.here)
}

// source is the source with its folders, and whether there is anything to look at.
func (p origin) source() (collect.SourceConfig, bool) {
	folders := p.folders()
	if len(folders) == 0 || len(folders) == 1 && folders[0] == p.here {
		return p.found, p.here != ""
	}
	return drivers.At(p.found, folders), true
}

// forget leaves out the folders that are not there any more.
func (p origin) forget() origin {
	p.known = slices.DeleteFunc(slices.Clone(p.known), func(folder string) bool {
		_, err := os.Stat(folder)
		return errors.Is(err, fs.ErrNotExist)
	})
	return p
}

// gone takes a person's word that what is not seen of some sources is gone.
func (s *settings) gone(ids []string) error {
	for _, typed := range ids {
		id, err := collect.SourceID(typed)
		if err != nil {
			return usageError("--accept-gone ID", "--accept-gone: %w", err)
		}
		s.accepted = append(s.accepted, id)
	}
	for i, p := range s.origins {
		if slices.Contains(s.accepted, p.id) {
			s.origins[i] = p.forget()
		}
	}
	s.settle()
	return nil
}

// settle puts the sources whose folders no configuration names where they lie.
func (s *settings) settle() {
	for _, p := range s.origins {
		source, there := p.source()
		at := slices.IndexFunc(s.sources, func(one collect.SourceConfig) bool { return one.ID == source.ID })
		switch {
		case at >= 0 && s.detected && !there:
			s.sources = slices.Delete(s.sources, at, at+1)
		case at >= 0:
			s.sources[at] = source
		case there:
			s.sources = append(s.sources, source)
		}
	}
}

// rememberFolders keeps where the sources were published from.
func (s *settings) rememberFolders(ctx context.Context, report publish.Report) error {
	m := memory(s.State)
	if m == nil {
		return nil
	}
	for _, p := range s.origins {
		folders := p.folders()
		published := slices.ContainsFunc(report.Sources, func(r publish.SourceReport) bool { return r.Source.ID == p.id && r.Found > 0 })
		if !published && !slices.Contains(s.accepted, p.id) {
			continue
		}
		text := ""
		if len(folders) > 0 {
			encoded, err := json.Marshal(folders)
			if err != nil {
				return err
			}
			text = string(encoded)
		}
		if known, _ := m.Recall(p.id, "", foldersKey); known == text {
			continue
		}
		if err := m.Remember(ctx, p.id, "", foldersKey, text); err != nil {
			return err
		}
	}
	return nil
}

// leftOut returns what a person left out of a pass: sources that are disabled, those that
// --source does not name, and those that have no driver, which is told already.
func (s *settings) leftOut(only []string) func(sourceID string) bool {
	return func(id string) bool {
		return len(only) > 0 || s.disabled(id) || slices.ContainsFunc(s.sources, named(id))
	}
}

// disabled reports a source that the configuration names and does not enable.
func (s *settings) disabled(id string) bool {
	at := slices.IndexFunc(s.Sources, named(id))
	return at >= 0 && !s.Sources[at].Enabled
}

// named returns what finds the source of an id.
func named(sourceID string) func(collect.SourceConfig) bool {
	return func(source collect.SourceConfig) bool {
		id, err := collect.SourceID(source.ID)
		return err == nil && id == sourceID
	}
}

// unlooked are the sources that were published from here, that nothing looks at now, and
// of which no pass has told that yet.
func (s *settings) unlooked(published []document.Source) (list []document.Source, err error) {
	if _, err := durable.OS().Lstat(s.State); s.State == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	state, err := ledger.OpenState(durable.OS(), s.State)
	if err != nil {
		return nil, err
	}
	installation, err := ledger.ReadInstallation(state)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	leftOut := s.leftOut(nil)
	for _, source := range published {
		told := slices.ContainsFunc(source.Errors, func(p document.Problem) bool { return p.Code == publish.CodeSourceAbsent })
		if source.Installation == installation && source.SessionCount > 0 && !leftOut(source.ID) && !told {
			list = append(list, source)
		}
	}
	return list, err
}

func unlookedText(s document.Source) string {
	return fmt.Sprintf("source %s: nothing looks at it now, though %s of it published from here", s.ID,
		counted(s.SessionCount, "session was", "sessions were"))
}

// unaccepted reports a source that --accept-gone names and that was not looked at.
func (s *settings) unaccepted(report publish.Report) error {
	for _, id := range s.accepted {
		if !slices.ContainsFunc(report.Sources, func(r publish.SourceReport) bool { return r.Source.ID == id }) {
			return &failure{exit: exitFailed, code: "no-such-source", source: id,
				message: "nothing of a source " + id + " is missing here", hint: "see the sources: agentsync status"}
		}
	}
	return nil
}

// acceptGone is what a person types to say that what is not seen of a source is gone.
func acceptGone(source string) string { return "agentsync publish --accept-gone " + source }

// absenceHint says what can be done about what was published and is not seen.
func absenceHint(code, source string) string {
	switch code {
	case publish.CodeSourceAbsent:
		return "bring its folder back, set enabled: false for it, or say that it is gone: " + acceptGone(source)
	case publish.CodeSessionsGone:
		return "mount or bring back what is missing, or say that it is gone: " + acceptGone(source)
	case collect.CodeFolderMissing:
		return "mount it or correct the configuration; if it is gone for good: " + acceptGone(source)
	case collect.CodeAside:
		return "correct cwd in the configuration; if those sessions are to count as gone: " + acceptGone(source)
	case collect.CodeLinkToNothing:
		return "bring back what the link leads to, or remove the link; if what was there is gone for good: " + acceptGone(source)
	case collect.CodeLink:
		return "put what the link leads to in its place, or set symlinks: follow where it leads to a folder; if it is gone for good: " + acceptGone(source)
	}
	return ""
}
