package claude

import (
	"strings"

	"agentsync/collect/value"
)

// windowSize is how much of either end of a transcript the client looks at, in bytes.
const windowSize = 64 << 10

// evidence is all that a session's fields are read from.
type evidence struct {
	head, tail string // decoded; the same text for a small file
	size       int64
	modTime    int64  // nanoseconds
	title      []byte // of custom-title.json, nil when absent
	archived   []byte // of archived.json
}

// fields are what the client reports of a session. Strings are nil where it reports none.
type fields struct {
	summary, customTitle, firstPrompt *string
	gitBranch, cwd, tag               *string
	createdAt                         *int64 // milliseconds
	archived                          *bool
	lastModified, size                int64
	sidechain                         bool // the first line says so
}

// read derives the fields as the client does (spec, agents 3.2).
func (p *parser) read(e evidence) fields {
	f := fields{lastModified: roundMillis(e.modTime), size: e.size}
	first, _, _ := strings.Cut(e.head, "\n")
	f.sidechain = strings.Contains(first, `"isSidechain":true`) || strings.Contains(first, `"isSidechain": true`)
	f.customTitle = p.title(e)
	f.firstPrompt = optional(p.firstPrompt(e.head))
	f.summary = p.summary(e, f)
	if s, ok := p.firstText(e.head, "timestamp"); ok {
		if ms, ok := parseDate(s); ok {
			f.createdAt = &ms
		}
	}
	f.gitBranch = p.branch(e)
	f.cwd = p.cwd(e)
	f.tag = nonEmpty(p.lastOfType(e.tail, "tag", "tag"))
	f.archived = p.archivedState(e)
	return f
}

func (p *parser) branch(e evidence) *string {
	if s := nonEmpty(p.lastText(e.tail, "gitBranch")); s != nil {
		return s
	}
	return nonEmpty(p.firstText(e.head, "gitBranch"))
}

func (p *parser) cwd(e evidence) *string {
	if strings.Contains(e.tail, `"type":"relocated"`) { // a spaced one does not count
		if s := nonEmpty(p.lastOfType(e.tail, "relocated", "relocatedCwd")); s != nil {
			return s
		}
	}
	return nonEmpty(p.firstText(e.head, "cwd"))
}

// title is the title that a person or the client gave the session.
func (p *parser) title(e evidence) *string {
	last, inTail := p.lastOfType(e.tail, "custom-title", "customTitle")
	if last != "" {
		return &last
	}
	if !inTail {
		if s := p.sidecarTitle(e.title); s != "" {
			return &s
		}
	}
	for _, place := range []struct{ text, kind, key string }{
		{e.head, "custom-title", "customTitle"}, {e.tail, "ai-title", "aiTitle"}, {e.head, "ai-title", "aiTitle"},
	} {
		if s := nonEmpty(p.lastOfType(place.text, place.kind, place.key)); s != nil {
			return s
		}
	}
	return nil
}

func (p *parser) sidecarTitle(content []byte) string {
	v, ok := p.parse(string(content))
	if !ok {
		return ""
	}
	s, _ := str(v, "customTitle")
	return trim(s)
}

// summary is the line that stands for the session in a list; nil hides it there.
func (p *parser) summary(e evidence, f fields) *string {
	if f.customTitle != nil {
		return f.customTitle
	}
	if s := nonEmpty(p.lastString(e.tail, "lastPrompt")); s != nil {
		return s
	}
	if s := nonEmpty(p.lastString(e.tail, "summary")); s != nil {
		return s
	}
	if f.firstPrompt != nil {
		return f.firstPrompt
	}
	return p.attachment(e.head)
}

// attachment names what a session began with that has no words. The client looks at the
// text of the lines, so that a torn one counts too.
func (p *parser) attachment(text string) *string {
	for line := range strings.SplitSeq(text, "\n") {
		if !mayHoldPrompt(line) || strings.Contains(line, `"isMeta":true`) {
			continue
		}
		for _, kind := range []struct{ mark, name string }{{`"type":"image"`, "Image"}, {`"type":"document"`, "Document"}} {
			if strings.Contains(line, kind.mark) {
				return new(kind.name)
			}
		}
	}
	return nil
}

// archivedState is what archived.json says, unless a person went on later.
func (p *parser) archivedState(e evidence) *bool {
	if len(e.archived) == 0 || len(e.archived) > maxArchivedFile {
		return nil
	}
	v, ok := p.parse(string(e.archived))
	if !ok {
		return nil
	}
	state, _ := v.Get("archived")
	if state.Kind() != value.True && state.Kind() != value.False {
		return nil
	}
	text, _ := str(v, "at")
	archived := state.IsTrue()
	at, ok := parseDate(text)
	if !ok {
		return nil
	}
	archived = archived && !p.promptAfter(e.head, at) && !p.promptAfter(e.tail, at)
	return &archived
}

// maxArchivedFile is the largest archived.json that counts, in bytes.
const maxArchivedFile = 4096

// promptAfter reports that a person typed something later than at.
func (p *parser) promptAfter(text string, at int64) bool {
	for line := range strings.SplitSeq(text, "\n") {
		v, ok := p.userLine(line)
		if !ok {
			continue
		}
		stamp, _ := str(v, "timestamp")
		if ms, ok := parseDate(stamp); !ok || ms <= at {
			continue
		}
		for part := range texts(v) {
			if prompt, command := judgePrompt(part); prompt != "" || command != "" {
				return true
			}
		}
	}
	return false
}

func optional(s string, ok bool) *string {
	if !ok {
		return nil
	}
	return &s
}

func nonEmpty(s string, ok bool) *string {
	if !ok || s == "" {
		return nil
	}
	return &s
}
