package cli

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"agentsync/dirsync"
	"agentsync/dirsync/life"
)

// synced is a plan and whose it is.
type synced struct {
	binding *life.Bound
	plan    *dirsync.Plan
	id      string
	phase   life.Phase
}

func (v *invocation) showPlan(p *synced, all bool) error {
	if v.out.asJSON {
		return v.planObjects(p)
	}
	few := fewItems
	if all {
		few = len(p.plan.Actions) + len(p.plan.Conflicts) + len(p.plan.Blocked) + len(p.plan.Local) + len(p.plan.Held) + len(p.plan.Adoptions)
	}
	page := &planPage{synced: p, few: few, all: all, place: pathText(homePath(v.env.Home, p.binding.Root))}
	page.write()
	for _, line := range page.lines {
		if err := v.out.line("%s", line); err != nil {
			return err
		}
	}
	return nil
}

// fewItems is how many items of a group are named, and the rest is counted.
const fewItems = 10

// planPage renders a plan for people.
type planPage struct {
	*synced
	place string // the directory
	few   int
	all   bool
	lines []string
}

func (p *planPage) add(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

func (p *planPage) write() {
	from := "which holds nothing yet"
	if p.plan.Head > 0 {
		from = fmt.Sprintf("head %d", p.plan.Head)
	}
	p.add("%s: %s and dataset %s (%s), %s", p.binding.ID, p.place, p.binding.Dataset, from, p.plan.Direction)
	for _, side := range []dirsync.Side{dirsync.Project, dirsync.Dataset} {
		p.actions(side)
	}
	p.conflicts()
	p.quiet()
	p.end()
}

// verbs of actions, in the order in which they are shown.
var actionVerbs = []string{"replace", "chmod", "create", "link", "mkdir"}

// actions shows what a side is to get, by kind of change.
func (p *planPage) actions(side dirsync.Side) {
	if p.plan.Writes(side) == 0 {
		return
	}
	p.add("to the %s:", side)
	for _, verb := range actionVerbs {
		var paths []string
		var size int64
		for i := range p.plan.Actions {
			a := &p.plan.Actions[i]
			if a.Side != side || a.Verb() != verb {
				continue
			}
			size += a.After.Size
			paths = append(paths, actionText(a))
		}
		if len(paths) == 0 {
			continue
		}
		text := number(len(paths))
		if verb == "create" || verb == "replace" {
			text += ", " + bytesText(size)
		}
		p.add("  %-9s %s", verb, text)
		p.list("      ", paths)
	}
}

func (p *planPage) list(indent string, items []string) {
	for i, item := range items {
		if i == p.few {
			p.add("%s… and %d more; --all names them", indent, len(items)-i)
			return
		}
		p.add("%s%s", indent, item)
	}
}

func actionText(a *dirsync.Action) string {
	text := pathText(a.Path)
	switch a.Verb() {
	case "create":
		if a.After.Executable {
			text += " (executable)"
		}
	case "replace":
		text += " (" + bytesText(a.Before.Size) + " → " + bytesText(a.After.Size) + ")"
	case "chmod":
		text += map[bool]string{true: " (becomes executable)", false: " (no longer executable)"}[a.After.Executable]
	case "link":
		text += " → " + pathText(a.After.Target)
	}
	if a.Disk != "" {
		text += ", on disk " + strconv.QuoteToASCII(a.Disk)
	}
	return text
}

var conflictTexts = map[dirsync.ConflictCode]string{
	dirsync.BothChanged:      "changed on both sides",
	dirsync.DeletedVsChanged: "deleted on one side, changed on the other",
	dirsync.TypeDiffers:      "not the same kind of thing on both sides",
	dirsync.ParentHeld:       "deleted on one side, with new things in it on the other",
}

func (p *planPage) conflicts() {
	if len(p.plan.Conflicts) == 0 {
		return
	}
	p.add("conflicts: %d", len(p.plan.Conflicts))
	for i := range p.plan.Conflicts {
		c := &p.plan.Conflicts[i]
		if i == p.few {
			p.add("  … and %d more; --all names them", len(p.plan.Conflicts)-i)
			return
		}
		p.add("  %s: %s", pathText(c.Path), conflictTexts[c.Code])
		p.add("      agreed   %s", entryText(c.Ancestor))
		p.add("      project  %s", entryText(c.Project))
		p.add("      dataset  %s", entryText(c.Dataset))
		if p.phase != life.Ready {
			continue
		}
		if !c.Choosable() {
			p.add("      move one of them to another name, then preview again")
			continue
		}
		p.add("      agentsync dirsync choose --side project %s %s   (or --side dataset)", planDigits(p.id), shellPath(c.Path))
	}
}

// entryText says what stands at a path.
func entryText(e dirsync.Entry) string {
	switch e.Kind {
	case dirsync.Absent:
		return "nothing"
	case dirsync.File:
		text := "file of " + bytesText(e.Size) + ", " + e.Digest.Hex()[:12]
		if e.Executable {
			text += ", executable"
		}
		return text
	case dirsync.Link:
		return "link to " + pathText(e.Target)
	case dirsync.Blocked:
		return "blocked: " + string(e.Reason)
	}
	return e.Kind.String()
}

// quiet shows what the plan leaves as it is.
func (p *planPage) quiet() {
	if n := len(p.plan.Adoptions); n > 0 {
		p.add("agreed: %s on both sides alike", counted(n, "path has become", "paths have become"))
	}
	if n := len(p.plan.Choices); n > 0 {
		p.add("chosen: %s settled by a choice", counted(n, "conflict is", "conflicts are"))
	}
	deleted, waiting, renamed := heldCounts(p.plan.Held)
	if deleted > 0 {
		p.add("held: %s, which no plan carries over", counted(deleted, "deletion", "deletions"))
	}
	if waiting > 0 {
		p.add("held: %s below a conflict or a deleted directory", counted(waiting, "path", "paths"))
	}
	if renamed > 0 {
		p.add("held: %s in upper and lower case alone", counted(renamed, "name that differs", "names that differ"))
	}
	if p.all {
		for _, h := range p.plan.Held {
			p.add("    %s (%s)", pathText(h.Path), h.Reason)
		}
	}
	if n := len(p.plan.Blocked); n > 0 {
		items := make([]string, n)
		for i, b := range p.plan.Blocked {
			items[i] = blockedText(b)
		}
		p.add("blocked: %s untouched", counted(n, "path stays", "paths stay"))
		p.list("    ", items)
	}
	if n := len(p.plan.Local); n > 0 {
		items := make([]string, n)
		for i, l := range p.plan.Local {
			items[i] = pathText(l.Path) + " (" + l.Side.String() + ")"
		}
		p.add("local: %s, since the binding is %s", counted(n, "change stays on its side", "changes stay on their side"), p.plan.Direction)
		p.list("    ", items)
	}
}

func heldCounts(held []dirsync.Held) (deleted, waiting, renamed int) {
	for _, h := range held {
		switch h.Reason {
		case dirsync.DeletedOnProject, dirsync.DeletedOnDataset:
			deleted++
		case dirsync.CaseRename:
			renamed++
		default:
			waiting++
		}
	}
	return deleted, waiting, renamed
}

func blockedText(b dirsync.BlockedItem) string {
	text := pathText(b.Path)
	if b.Reason == dirsync.NameCollision {
		text = strconv.QuoteToASCII(b.Path)
	}
	return text + " (" + string(b.Reason) + " on the " + b.Side.String() + " side)"
}

// end names the plan and what is to be typed next.
func (p *planPage) end() {
	if p.phase != life.Ready {
		p.add("plan %s: %s", p.id, p.phase)
		return
	}
	if p.plan.Idle() && !p.plan.Accepts.Rebase {
		p.add("nothing to apply; plan %s", p.id)
		return
	}
	p.add("plan %s", p.id)
	p.add("to apply it: agentsync dirsync apply %s", planDigits(p.id))
}

// pathText shows a path so that nothing in it is mistaken for something else.
func pathText(path string) string {
	for i, r := range path {
		if !unicode.IsPrint(r) || r == '"' || r == ' ' && (i == 0 || i == len(path)-1 || path[i-1] == ' ') {
			return strconv.Quote(path)
		}
	}
	if path == "" || strings.ContainsRune(path, unicode.ReplacementChar) {
		return strconv.Quote(path)
	}
	return path
}

// shellPath is a path as a shell takes it for one word.
func shellPath(path string) string {
	plain := func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || strings.ContainsRune("/._-+,:@%=", r)
	}
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	switch {
	case path != "" && strings.IndexFunc(path, func(r rune) bool { return !plain(r) }) < 0:
		return path
	case strings.IndexFunc(path, func(r rune) bool { return !unicode.IsPrint(r) }) < 0:
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	quoted := strconv.QuoteToASCII(path) // its escapes are those of $'…' but for the quotes
	return "$'" + strings.ReplaceAll(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`), "'", `\'`) + "'"
}
