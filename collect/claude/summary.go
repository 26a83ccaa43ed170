package claude

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"agentsync/collect"
	"agentsync/collect/lines"
	"agentsync/collect/value"
)

// folder is the project folder that a session lies in.
func (d *Driver) folder(s session) string {
	return filepath.Join(d.roots[s.root].projects(), s.key)
}

// file is the session's own file, or the folder of its side files.
func (d *Driver) file(s session) string {
	return filepath.Join(d.folder(s), filepath.FromSlash(s.path))
}

// sidecarFolder holds a main session's sidecars, "" for other sessions.
func (d *Driver) sidecarFolder(s session) string {
	if s.kind != mainSession {
		return ""
	}
	return filepath.Join(d.folder(s), s.family)
}

// summarize reads a transcript's summary from its first size bytes.
func (d *Driver) summarize(s session, r *lines.Reader, size int64) (collect.Summary, error) {
	e, err := gather(r, size, d.sidecarFolder(s))
	if err != nil {
		return collect.Summary{}, err
	}
	var p parser
	f := p.read(e)
	out := collect.Summary{
		NativeSessionID: s.id,
		Cwd:             f.cwd,
		UpdatedAt:       new(formatMillis(f.lastModified)),
		Archived:        f.archived,
		Parent:          s.parent,
	}
	spoken := conversation{}
	if s.kind == mainSession && f.summary == nil && size > 0 && !f.sidechain {
		if spoken, err = p.lookThrough(io.NewSectionReader(r, 0, size)); err != nil {
			return collect.Summary{}, err
		}
	}
	out.Hidden = s.kind != mainSession || s.id != s.family && !s.lone || d.hidden(&p, s, e, f, spoken)
	if s.kind == mainSession {
		out.StartedAs = d.recall(s.id, startedAsKey)
	}
	if f.createdAt != nil {
		out.CreatedAt = new(formatMillis(*f.createdAt))
	}
	for _, title := range []*string{f.customTitle, f.summary, f.firstPrompt, spoken.prompt} {
		if out.Title == nil {
			out.Title = title
		}
	}
	b := value.NewBuilder().Record()
	f.describe(b, clientID(s))
	switch s.kind {
	case flatSession:
		out.Parent = p.owner(e.head, clientID(s))
	case subagent:
		if err := d.describeAgent(&out, b, s); err != nil {
			return out, err
		}
	}
	out.Raw, out.Placement = b.End().Finish(), d.place(s)
	detach(&out)
	return out, nil
}

// detach copies the texts of a summary: they are parts of a transcript's two ends,
// which would stay in memory as long as the summary does.
func detach(s *collect.Summary) {
	for _, text := range []**string{&s.Title, &s.Cwd} {
		if *text != nil {
			*text = new(strings.Clone(**text))
		}
	}
	s.Parent = strings.Clone(s.Parent)
}

// clientID is the name that the client knows a transcript by.
func clientID(s session) string { return strings.TrimSuffix(path.Base(s.path), ".jsonl") }

// describe writes the client's own fields into the open record.
func (f fields) describe(b *value.Builder, id string) {
	b.Key("sessionId").String(id)
	put := func(key string, s *string) {
		if s != nil {
			b.Key(key).String(*s)
		}
	}
	put("summary", f.summary)
	b.Key("lastModified").Int(f.lastModified)
	b.Key("fileSize").Int(f.size)
	put("customTitle", f.customTitle)
	put("firstPrompt", f.firstPrompt)
	put("gitBranch", f.gitBranch)
	put("cwd", f.cwd)
	put("tag", f.tag)
	if f.createdAt != nil {
		b.Key("createdAt").Int(*f.createdAt)
	}
	if f.archived != nil {
		b.Key("archived").Bool(*f.archived)
	}
}

// place is where the session lies.
func (d *Driver) place(s session) collect.Placement {
	return collect.Placement{Root: d.roots[s.root].placement(),
		Path: "projects/" + strings.TrimSuffix(s.key+"/"+s.path, "/")}
}

// describeAgent adds what a sub-agent's meta file tells: its description for a title,
// and the agent that called it for a parent.
func (d *Driver) describeAgent(out *collect.Summary, b *value.Builder, s session) error {
	content, err := readSmall(metaName(d.file(s)))
	if err != nil {
		return err
	}
	var p parser
	meta, ok := p.parse(string(content))
	if !ok || meta.Kind() != value.Record {
		return nil
	}
	b.Key("agent").Value(meta)
	if title, ok := str(meta, "description"); ok && title != "" {
		out.Title = &title
	}
	if caller, ok := str(meta, "parentAgentId"); ok && caller != "" {
		out.Parent = d.agent(s, caller)
	}
	return nil
}

// agent finds the sibling that is called so; the session itself is the parent when
// there is none.
func (d *Driver) agent(s session, agentID string) string {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.known == nil {
		return s.parent
	}
	prefix := s.id[:len(s.id)-len(strings.TrimSuffix(s.path[len(s.family):], ".jsonl"))]
	for dir := path.Dir(s.id); len(dir) > len(prefix); dir = path.Dir(dir) {
		if _, ok := d.known.find(dir + "/agent-" + agentID); ok {
			return dir + "/agent-" + agentID
		}
	}
	return s.parent
}

// owner is the session that a transcript lying beside the others belongs to, as its
// first line says.
func (p *parser) owner(head, own string) string {
	line, _, _ := strings.Cut(head, "\n")
	v, ok := p.parse(strings.TrimPrefix(line, "\ufeff"))
	if !ok {
		id, _ := p.firstText(line, "sessionId") // the line may be longer than the head
		return other(id, own)
	}
	id, _ := str(v, "sessionId")
	return other(id, own)
}

func other(id, own string) string {
	if id == own {
		return ""
	}
	return id
}

// summarizeFiles describes a set of side files.
func (d *Driver) summarizeFiles(s session, count int, stamp collect.Stamp) collect.Summary {
	b := value.NewBuilder().Record()
	b.Key("files").Int(int64(count))
	b.Key("fileSize").Int(stamp.Size)
	b.Key("lastModified").Int(roundMillis(stamp.ModTime))
	return collect.Summary{
		NativeSessionID: s.id,
		Parent:          s.parent,
		UpdatedAt:       new(formatMillis(roundMillis(stamp.ModTime))),
		Hidden:          true,
		Raw:             b.End().Finish(),
		Placement:       d.place(s),
	}
}

// conversation is what a whole transcript tells where its two ends tell nothing.
type conversation struct {
	prompt *string // the first one, nil for none
	answer bool    // the model spoke
}

// lookThrough looks for the first prompt, or else for words of the model, in a transcript
// whose beginning has neither: the client's list leaves such a session out, though it has a
// conversation. It remembers one line at a time.
func (p *parser) lookThrough(transcript io.Reader) (c conversation, err error) {
	lines := bufio.NewReaderSize(transcript, windowSize)
	for err == nil {
		var line []byte
		line, err = lines.ReadBytes('\n')
		if c.prompt = optional(p.firstPrompt(decodeUTF8(bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF"))))); c.prompt != nil {
			return c, nil
		}
		c.answer = c.answer || bytes.Contains(line, []byte(`"type":"assistant"`))
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return c, err
}

// hidden reports a session that the client's list leaves out and that has no conversation
// either, or one that went on in another session.
func (d *Driver) hidden(p *parser, s session, e evidence, f fields, spoken conversation) bool {
	if _, reported := f.info(s.family); !reported && spoken == (conversation{}) {
		return true
	}
	next := p.continuedIn(e.tail)
	return next != "" && next != s.family && d.continues(p, s, next)
}

// continues reports that a session file of that name exists beside s and has messages.
func (d *Driver) continues(p *parser, s session, id string) bool {
	if !isUUID(id) {
		return false
	}
	r, err := lines.Open(filepath.Join(d.folder(s), id+".jsonl"), lines.Options{})
	if err != nil {
		return false
	}
	defer r.Close()
	head, err := readText(r, 0, min(windowSize, r.Stamp().Size))
	return err == nil && p.hasMessage(head)
}

// continuedIn is the session that the tail says this one went on in, "" if it went on itself.
func (p *parser) continuedIn(tail string) string {
	id := ""
	eachLineBackwards(tail, func(line string) bool {
		v, ok := p.parse(line)
		if !ok {
			return false
		}
		switch kind, _ := str(v, "type"); kind {
		case "continued-in":
			id, _ = str(v, "continuedInSessionId")
			return true
		case "assistant":
			return true
		case "user":
			for part := range texts(v) {
				if prompt, _ := judgePrompt(part); prompt != "" && !truthy(v, "isMeta") {
					return true
				}
			}
		}
		return false
	})
	return id
}

func (p *parser) hasMessage(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		v, ok := p.parse(line)
		if kind, _ := str(v, "type"); ok && (kind == "user" || kind == "assistant") {
			return true
		}
	}
	return false
}

func sessionError(s session, doing string, err error) error {
	return fmt.Errorf("%s claude session %s: %w", doing, s.id, err)
}

// Restores reports a path below a configuration folder, with slashes, where a session's
// files may lie: below a project's folder.
func Restores(path string) bool {
	below, ok := strings.CutPrefix(path, "projects/")
	_, file, _ := strings.Cut(below, "/")
	return ok && file != ""
}
