package codex

import (
	"agentsync/collect"
	"agentsync/collect/value"
)

// headLimit is how far into a file its header and its first prompt are looked for, in
// bytes up to the start of a record. Both stand within the first records; the limit
// keeps a summary cheap where a rollout has neither.
const headLimit = 4 << 20

// header is what a rollout's own session_meta says, and what the replayed ones add.
type header struct {
	id, sessionID    string
	forkedFrom       string // thread that this one continues
	parentThread     string // thread that spawned this one
	base             string // thread whose file holds the history before this one's
	createdAt        int64  // milliseconds since 1970 UTC
	created          bool   // createdAt is known
	cwd              string
	originator       string
	cliVersion       string
	modelProvider    string
	historyMode      string
	nickname, role   string
	source, git      value.Value
	copiesItsHistory bool // forked without a base: its history is replayed in the file
}

// readHeader copies what is needed of a session_meta payload.
func readHeader(p value.Value) *header {
	h := &header{
		id: p.Path("id").Str(), sessionID: p.Path("session_id").Str(),
		forkedFrom: p.Path("forked_from_id").Str(), parentThread: p.Path("parent_thread_id").Str(),
		base: p.Path("history_base", "thread_id").Str(),
		cwd:  p.Path("cwd").Str(), originator: p.Path("originator").Str(),
		cliVersion: p.Path("cli_version").Str(), modelProvider: p.Path("model_provider").Str(),
		historyMode: p.Path("history_mode").Str(),
		nickname:    p.Path("agent_nickname").Str(), role: p.Path("agent_role").Str(),
		source: sourceOf(p.Path("source")), git: gitOf(p.Path("git")),
	}
	h.createdAt, h.created = parseMillis(p.Path("timestamp").Text())
	spawn := p.Path("source", "subagent", "thread_spawn")
	if h.parentThread == "" {
		h.parentThread = spawn.Path("parent_thread_id").Str()
	}
	if h.nickname == "" {
		h.nickname = spawn.Path("agent_nickname").Str()
	}
	if h.role == "" {
		h.role = spawn.Path("agent_role").Str()
	}
	h.copiesItsHistory = h.forkedFrom != "" && h.base == ""
	return h
}

// began is when the thread came to be, for telling its own turns from older ones: the
// time in its id, else that of its header.
func (h *header) began() (ms int64, ok bool) {
	if ms, ok = uuidMillis(h.id); ok {
		return ms, true
	}
	return h.createdAt, h.created
}

// hidden reports a thread that the client's own list leaves out unless asked for: one
// that no person sat before.
func (h *header) hidden() bool {
	switch h.source.Kind() {
	case value.Invalid:
		return false
	case value.String:
		source := string(h.source.Text())
		return source != "cli" && source != "vscode"
	}
	return true
}

// sourceOf copies a thread's source, in which files spell subagent what the client's
// answers spell subAgent. The zero Value stands for none.
func sourceOf(v value.Value) value.Value {
	if v.Kind() == value.Invalid || v.Kind() == value.Null {
		return value.Value{}
	}
	b := value.NewBuilder()
	if v.Kind() != value.Record {
		return b.Value(v).Finish()
	}
	b.Record()
	for key, member := range v.Members() {
		if string(key) == "subagent" {
			key = []byte("subAgent")
		}
		b.Key(string(key)).Value(member)
	}
	return b.End().Finish()
}

// gitOf writes a header's git record as the client's answers have it, the zero Value
// when there is none.
func gitOf(v value.Value) value.Value {
	if v.Kind() != value.Record {
		return value.Value{}
	}
	b := value.NewBuilder().Record()
	for _, field := range [][2]string{{"sha", "commit_hash"}, {"branch", "branch"}, {"originUrl", "repository_url"}} {
		b.Key(field[0])
		if text, ok := v.Get(field[1]); ok && text.Kind() == value.String {
			b.Value(text)
		} else {
			b.Null()
		}
	}
	return b.End().Finish()
}

// head gathers a file's header and first prompt from its records, in order.
type head struct {
	own     *header
	preview string
	ended   bool // the limit was passed
}

// done reports that nothing more is to be learned.
func (h *head) done() bool { return h.ended || h.own != nil && h.preview != "" }

// observe looks at the next record, which stands at an offset of the file.
func (h *head) observe(r record, offset int64) {
	if h.done() {
		return
	}
	if offset >= headLimit {
		h.ended = true
		return
	}
	if r.kind == "session_meta" && r.payload.Kind() == value.Record {
		h.meta(r.payload)
		return
	}
	if h.preview == "" {
		h.preview = promptOf(r)
	}
}

// meta takes the first header for the file's own. One of another thread is replayed
// history, and names the parent where the file's own does not.
func (h *head) meta(p value.Value) {
	if h.own == nil {
		h.own = readHeader(p)
		return
	}
	if id := p.Path("id").Str(); id != h.own.id && h.own.forkedFrom == "" {
		h.own.forkedFrom = id
	}
}

// promptOf is the beginning of what a person said in a record, "" for everything else.
func promptOf(r record) string {
	var said value.Value
	switch {
	case r.kind == "response_item" && r.sub == "message":
		if string(r.payload.Path("role").Text()) == "user" && contextKind(r.payload) == "" {
			said = r.payload.Path("content")
		}
	case r.kind == "event_msg" && r.sub == "user_message":
		said = r.payload.Path("message")
	case r.kind == "event_msg" && r.sub == "item_completed" && r.itemType() == "UserMessage":
		said = r.payload.Path("item")
	}
	if said.Kind() == value.Invalid {
		return ""
	}
	words := ownWords(fullText(said))
	return string(collect.CutUnits(words, collect.PreviewUnits))
}

// fullText is everything a prompt says: an editor may put pages before a person's words.
func fullText(v value.Value) []byte {
	if v.Kind() != value.Array {
		if v.Kind() == value.Record {
			return fullText(v.Path("content"))
		}
		return v.Text()
	}
	var all []byte
	for part := range v.Elements() {
		text := part.Path("text").Text()
		if len(text) > 0 && len(all) > 0 {
			all = append(all, '\n')
		}
		all = append(all, text...)
	}
	return all
}
