package publish

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"agentsync/collect"
	"agentsync/publish/document"
)

// This file decides what is gone, and does no I/O. The rule: what was published from
// here and is not seen now is absent, and that is told, until a person says otherwise.
// Single sessions alone are marked deleted by themselves, and only where a folder that is
// there was listed whole.

// Codes of what is not seen.
const (
	CodeSourceAbsent = "source-absent" // a source that was published from here is not looked at, or has no folder
	CodePartial      = "partial"       // a part of a session could not be read
	CodeSessionsGone = "sessions-gone" // a guard: all sessions of a source or folder are gone at once
)

// few is how many sessions a folder may lose at once, all it had, without a question.
const few = 3

// sight is what a pass saw of one source.
type sight struct {
	unlisted bool              // the pass does not look at the source
	absent   bool              // it has no folder
	complete bool              // all of it could be listed and read
	problems []collect.Problem // of the listing
	leftOut  []collect.Problem // places that were left out
	aside    []collect.Problem // places that the configuration leaves aside
	told     []string          // paths of links to nothing that an earlier pass told of
	accepted bool              // a person said that what is not seen is gone
	keeps    time.Duration     // how long the agent keeps a session; 0 for ever
	now      time.Time
	seen     func() []document.Placement // of the sessions that were seen
	talk     bool                        // one of them at least has a message; looked at when sessions are missing
}

// verdict is what became of the sessions that a pass did not see.
type verdict struct {
	deleted  map[string]bool   // by key; the others are stale
	problems []collect.Problem // why they are not taken for deleted
	leftOut  []collect.Problem // places behind which nothing is missing
	settled  bool              // a person's word makes the source whole
}

// judge decides about the sessions that are published, not deleted, and not seen.
func judge(s sight, unseen []*document.Row) verdict {
	v := verdict{deleted: map[string]bool{}, leftOut: s.leftOut}
	switch {
	case s.accepted && s.known():
		v.settled = true
		v.delete(unseen)
	case s.unlisted || s.absent:
		if len(unseen) > 0 {
			v.problems = []collect.Problem{absence(s.unlisted, len(unseen))}
		}
	default:
		unseen = v.hidden(s, unseen)
		if s.complete && len(unseen) > 0 {
			v.delete(v.guard(s, unseen))
		}
	}
	return v
}

func absence(unlisted bool, sessions int) collect.Problem {
	what := "its folder is not there"
	if unlisted {
		what = "nothing looks at it now"
	}
	return collect.Problem{Code: CodeSourceAbsent, Message: fmt.Sprintf("%s, though %s published from here; nothing is marked deleted",
		what, areText(sessions, "session of it is", "sessions of it are"))}
}

// known reports that nothing but a missing folder kept the source from being listed.
func (s *sight) known() bool {
	for _, p := range s.problems {
		if p.Code != collect.CodeFolderMissing {
			return false
		}
	}
	return true
}

func (v *verdict) delete(rows []*document.Row) {
	for _, row := range rows {
		v.deleted[row.Key] = true
	}
}

// hidden makes problems of the places that were left out and behind which published
// sessions stand, and returns the other sessions. A link to nothing, which a person wants
// followed, is a problem the first time it is seen: what it leads to may be missing.
func (v *verdict) hidden(s sight, unseen []*document.Row) (rest []*document.Row) {
	leftOut := slices.Concat(s.leftOut, s.aside)
	if len(leftOut) == 0 {
		return unseen
	}
	behind := make([]int, len(leftOut))
	for _, row := range unseen {
		found := false
		for i, p := range leftOut {
			if stands(row.Placement, document.Placement(p.Place)) {
				behind[i]++
				found = true
			}
		}
		if !found {
			rest = append(rest, row)
		}
	}
	v.leftOut = nil
	for i, p := range leftOut {
		switch {
		case behind[i] > 0:
			p.Message += fmt.Sprintf("; %s published from there and not seen now", areText(behind[i], "session was", "sessions were"))
			v.problems = append(v.problems, p)
		case p.Code == collect.CodeLinkToNothing && !slices.Contains(s.told, p.Path):
			v.problems = append(v.problems, p)
		case i < len(s.leftOut):
			v.leftOut = append(v.leftOut, p)
		}
	}
	return rest
}

// stands reports that a session lay where something is left out. Of a set of side files a
// part may be left out.
func stands(at, leftOut document.Placement) bool {
	if leftOut.Path == "" || at.Path == "" || at.Root != "" && leftOut.Root != "" && at.Root != leftOut.Root {
		return false
	}
	return at.Path == leftOut.Path || strings.HasPrefix(at.Path, leftOut.Path+"/") || strings.HasPrefix(leftOut.Path, at.Path+"/")
}

// guard holds back the sessions of folders of which nothing at all is left, and returns
// the others. Of the source as a whole one conversation is enough, whatever else is left;
// of a folder it takes more than a few that their agent has not cleaned up by itself.
func (v *verdict) guard(s sight, unseen []*document.Row) (rest []*document.Row) {
	seen := s.seen()
	talked := slices.ContainsFunc(unseen, func(row *document.Row) bool { return row.Messages > 0 })
	if len(seen) == 0 || talked && !s.talk {
		v.stop(len(unseen), "")
		return nil
	}
	lost := map[string]int{}
	for _, row := range unseen {
		if row.Parent == "" && !s.cleanedUp(row) {
			for _, folder := range folders(row.Placement) {
				lost[folder]++
			}
		}
	}
	for _, place := range seen {
		for _, folder := range folders(place) {
			delete(lost, folder)
		}
	}
	held := map[string]int{}
	var order []string
	for _, row := range unseen {
		folder, guarded := topmost(row.Placement, lost)
		if !guarded {
			rest = append(rest, row)
			continue
		}
		if held[folder]++; held[folder] == 1 {
			order = append(order, folder)
		}
	}
	for _, folder := range order {
		v.stop(held[folder], folder)
	}
	return rest
}

func (v *verdict) stop(n int, folder string) {
	what := "every conversation of it"
	if folder != "" {
		what = "all that was published below " + folder
	}
	v.problems = append(v.problems, collect.Problem{Code: CodeSessionsGone, Path: folder,
		Message: fmt.Sprintf("%s is gone at once, %s; nothing of it is marked deleted", what, areText(n, "session", "sessions"))})
}

// dangling are the paths of the links to nothing among what was left out.
func dangling(leftOut []collect.Problem) (paths []string) {
	for _, p := range leftOut {
		if p.Code == collect.CodeLinkToNothing {
			paths = append(paths, p.Path)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// cleanedUp reports a session so old that its agent removes it by itself.
func (s *sight) cleanedUp(row *document.Row) bool {
	if s.keeps == 0 || row.UpdatedAt == nil {
		return false
	}
	return *row.UpdatedAt < stamp(s.now.Add(-s.keeps))
}

// topmost returns the highest folder of a place that lost more than a few sessions.
func topmost(at document.Placement, lost map[string]int) (folder string, found bool) {
	for _, folder := range folders(at) {
		if lost[folder] > few {
			return folder, true
		}
	}
	return "", false
}

// folders are those that a session's place lies in, the highest first.
func folders(at document.Placement) (list []string) {
	if at.Root != "" {
		list = append(list, at.Root)
	}
	for i, c := range at.Path {
		if c == '/' {
			list = append(list, path.Join(at.Root, at.Path[:i]))
		}
	}
	return list
}

func areText(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
