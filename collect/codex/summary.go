package codex

import (
	"agentsync/collect"
	"agentsync/collect/value"
)

// maxBases is how many files a history may be spread over before a preview is looked
// for no further. A chain that leads back to itself ends there too.
const maxBases = 16

// summary is a thread's metadata: what its header says, its name or else its first
// prompt for a title, and its place for being archived. Whether a thread is active no
// file tells: only while a turn of this driver runs in it, it is known to be.
func (d *Driver) summary(c *catalog, f file, h head, updatedAt string) collect.Summary {
	archived := f.archived
	s := collect.Summary{NativeSessionID: f.id, UpdatedAt: &updatedAt, Archived: &archived}
	preview := d.preview(c, h)
	name := c.title(f)
	if title := firstOf(name, preview); title != "" {
		s.Title = &title
	}
	if own := h.own; own != nil {
		if own.cwd != "" {
			s.Cwd = &own.cwd
		}
		if own.created {
			created := formatMillis(own.createdAt)
			s.CreatedAt = &created
		}
		if own.parentThread != own.id {
			s.Parent = own.parentThread
		}
		s.Hidden = own.hidden()
	}
	if f.parent != "" {
		s.Parent = f.parent
	}
	if f.rel == indexFile || f.stamp.Size == 0 { // no conversation
		s.Hidden = true
	}
	if d.live.runs.turning(f.id) {
		working := true
		s.Active = &working
	}
	s.StartedAs = collect.StartOf(d.env.Memory, d.source.ID, f.id)
	s.Raw, s.Placement = d.raw(f, h, name, preview), d.place(f)
	return s
}

// place is where the file lies. A compressed one has its plain name.
func (d *Driver) place(f file) collect.Placement {
	p := collect.Placement{Path: f.rel}
	if f.zstd {
		p.Container = "zstd"
	}
	p.Root = d.homes[f.home].placement()
	return p
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// preview is the first prompt of the conversation. Where the file continues another one
// without a copy of it, the conversation begins there; a base that is not among the
// files, or cannot be read, leaves the file's own first prompt.
func (d *Driver) preview(c *catalog, h head) string {
	preview := h.preview
	for range maxBases {
		if h.own == nil || h.own.base == "" {
			break
		}
		f, found := c.find(h.own.base)
		if !found {
			break
		}
		base, err := d.readHead(f)
		if err != nil {
			break
		}
		h = base
		preview = firstOf(h.preview, preview)
	}
	return preview
}

// raw is the record that the client's own list would give, as far as files carry it,
// without the file's place.
func (d *Driver) raw(f file, h head, name, preview string) value.Value {
	own := h.own
	if own == nil {
		own = &header{}
	}
	id := own.id
	if id == "" {
		id = f.id
	}
	b := value.NewBuilder().Record()
	b.Key("id").String(id)
	optional := func(key, text string) {
		if text != "" {
			b.Key(key).String(text)
		}
	}
	optionalValue := func(key string, v value.Value) {
		if v.Kind() != value.Invalid {
			b.Key(key).Value(v)
		}
	}
	optional("sessionId", own.sessionID)
	optional("forkedFromId", own.forkedFrom)
	optional("parentThreadId", own.parentThread)
	b.Key("preview").String(preview)
	optional("name", name)
	optionalValue("source", own.source)
	optional("modelProvider", own.modelProvider)
	optional("cliVersion", own.cliVersion)
	optional("originator", own.originator)
	optional("agentNickname", own.nickname)
	optional("agentRole", own.role)
	optionalValue("gitInfo", own.git)
	optional("historyMode", own.historyMode)
	return b.End().Finish()
}
