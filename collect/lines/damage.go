package lines

import (
	"fmt"

	"agentsync/collect"
)

// Codes of the problems that a trailer lists. CodeWaiting is no damage: the file's
// last line is unfinished and was left to its writer.
const (
	CodeDamaged = "damaged-line" // bytes that are no JSON value
	CodeGlued   = "glued-line"   // several records on one line, all kept
	CodeNulFill = "nul-fill"     // a run of NUL bytes
	CodeTorn    = "torn-tail"    // an unfinished last line that nobody completed
	CodeMore    = "more-damage"  // how many places were not listed
	CodeWaiting = "waiting-tail"
)

// maxLocated is how many places of damage a file lists one by one.
const maxLocated = 20

// damageLog counts damaged events and remembers where the first of them stand.
type damageLog struct {
	counts  map[collect.Damage]int
	places  []place
	further int
}

// place is a run of adjacent lines with the same damage.
type place struct {
	kind        collect.Damage
	first, last int // 1-based
}

func (l *damageLog) count(kind collect.Damage, line int) {
	if kind == collect.Sound {
		return
	}
	if l.counts == nil {
		l.counts = map[collect.Damage]int{}
	}
	l.counts[kind]++
	if kind == collect.Blank || l.extend(kind, line) {
		return
	}
	if len(l.places) == maxLocated {
		l.further++
		return
	}
	l.places = append(l.places, place{kind, line, line})
}

// extend adds the line to a place that reaches it. The last places are looked at, since
// one line can have damage of several kinds.
func (l *damageLog) extend(kind collect.Damage, line int) bool {
	for i := len(l.places) - 1; i >= max(0, len(l.places)-4); i-- {
		p := &l.places[i]
		if p.kind == kind && line-p.last <= 1 {
			p.last = line
			return true
		}
	}
	return false
}

// problems lists the damage, and the unfinished last line of waiting bytes if there is one.
func (l *damageLog) problems(path string, lastLine, waiting int) []collect.Problem {
	var list []collect.Problem
	for _, p := range l.places {
		code, what := p.kindText()
		list = append(list, collect.Problem{Code: code, Message: p.text() + what, Path: path, Line: p.first})
	}
	if l.further > 0 {
		list = append(list, collect.Problem{Code: CodeMore, Path: path,
			Message: fmt.Sprintf("%d more damaged records not listed", l.further)})
	}
	if waiting > 0 {
		list = append(list, collect.Problem{Code: CodeWaiting, Path: path, Line: lastLine,
			Message: fmt.Sprintf("line %d is still being written (%d bytes)", lastLine, waiting)})
	}
	return list
}

func (p place) text() string {
	if p.first == p.last {
		return fmt.Sprintf("line %d ", p.first)
	}
	return fmt.Sprintf("lines %d-%d ", p.first, p.last)
}

func (p place) kindText() (code, what string) {
	several := p.first != p.last
	switch p.kind {
	case collect.Glued:
		return CodeGlued, plural(several, "holds", "hold") + " several records without a line end between them"
	case collect.NulFill:
		return CodeNulFill, plural(several, "holds", "hold") + " NUL bytes"
	case collect.TornTail:
		return CodeTorn, "was never finished"
	default:
		return CodeDamaged, plural(several, "holds", "hold") + " bytes that are no JSON value"
	}
}

func plural(several bool, one, many string) string {
	if several {
		return many
	}
	return one
}
