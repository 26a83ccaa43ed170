package claude

import (
	"slices"

	"agentsync/collect/value"
)

// entries are the lines that the client shows. Those from tail on hang below the tip.
func (t *tree) entries(nodes []*node, tail int, o ChainOptions) []Entry {
	completed := completedCommands(nodes)
	queued := map[string]bool{}
	var list []Entry
	for i, n := range nodes {
		switch {
		case n.queued != nil:
			e := n.queuedEntry()
			if !n.queued.meta && !queued[e.ID] && (i >= tail || answered(nodes[i+1:tail])) {
				queued[e.ID] = true
				list = append(list, e)
			}
		case n.shown(o):
			list = append(list, Entry{Index: n.index, ID: n.uuid, CompletedCommand: completed[n]})
		}
	}
	return list
}

func (n *node) queuedEntry() Entry {
	e := Entry{Index: n.index, ID: n.uuid, Queued: true}
	if n.queued.id != "" {
		e.ID = n.queued.id
	}
	return e
}

// shown reports a line that the client does not leave out.
func (n *node) shown(o ChainOptions) bool {
	if o.Agent != nil {
		return n.spoken()
	}
	return (n.spoken() || n.kind == systemLine && o.System) &&
		!n.hidden && !n.sidechain && !n.team && !n.quiet
}

// answered reports that the model speaks before the next prompt.
func answered(following []*node) bool {
	for _, n := range following {
		if n.kind == assistantLine {
			return true
		}
		if n.kind == userLine && n.prompt && !n.meta {
			return false
		}
	}
	return false
}

// completedCommands finds the local commands that ran, which a caveat announces, and
// their outputs.
func completedCommands(nodes []*node) map[*node]bool {
	completed := map[*node]bool{}
	for i := 1; i < len(nodes); i++ {
		if nodes[i].command && nodes[i-1].caveat || nodes[i].output && completed[nodes[i-1]] {
			completed[nodes[i]] = true
		}
	}
	return completed
}

// notes are the indexes of the lines that are not among the entries made of them.
func notes(nodes []*node, entries []Entry) (left []int) {
	shown := make(map[int]bool, len(entries))
	for _, e := range entries {
		shown[e.Index] = true
	}
	for _, n := range nodes {
		if !shown[n.index] {
			left = append(left, n.index)
		}
	}
	return left
}

// breakOf is the index of a branch's root that names a line which is not there, else -1.
func (t *tree) breakOf(path []*node) int {
	if len(path) == 0 || path[0].parent == "" || t.byID[path[0].parent] != nil {
		return -1
	}
	return path[0].index
}

// before are the messages in front of the branch's root, if a compaction made it one.
func (t *tree) before(path, visible []*node, o ChainOptions) []Entry {
	if len(path) == 0 || !path[0].boundary {
		return nil
	}
	seen := map[*node]bool{}
	for _, n := range visible {
		seen[n] = true
	}
	var earlier []*node
	walked := map[*node]bool{}
	for n := t.byID[path[0].before]; n != nil && !walked[n]; n = t.byID[n.before] {
		walked[n] = true
		if !seen[n] {
			earlier = append(earlier, n)
		}
	}
	slices.Reverse(earlier)
	return t.entries(earlier, len(earlier), o)
}

// Message is an entry as the client answers it, made of the line that the entry names.
func (c *Conversation) Message(e Entry, line []byte) (value.Value, bool) {
	var r lineReader
	v, ok := r.parse(line)
	if !ok {
		return value.Value{}, false
	}
	b := value.NewBuilder().Record()
	kind, _ := v.Get("type")
	if e.Queued {
		b.Key("type").String("user")
	} else {
		b.Key("type").Value(kind)
	}
	b.Key("uuid").String(e.ID)
	copyMember(b, v, "sessionId", "session_id")
	writeContent(b, v, e)
	c.writeOrigin(b)
	writeMarks(b, v, e)
	copyMember(b, v, "timestamp", "timestamp")
	writeSpeaker(b, v, e)
	return b.End().Finish(), true
}

// writeSpeaker writes who spoke, where the line tells.
func writeSpeaker(b *value.Builder, v value.Value, e Entry) {
	if e.Queued {
		v = v.Path("attachment")
	}
	if origin, ok := v.Get("origin"); ok {
		b.Key("origin").Value(origin)
		return
	}
	if mode, _ := str(v, "commandMode"); e.Queued && mode == "task-notification" {
		b.Key("origin").Record().Key("kind").String(mode).End()
	}
}

func copyMember(b *value.Builder, v value.Value, from, to string) {
	if m, ok := v.Get(from); ok {
		b.Key(to).Value(m)
	}
}

// writeContent writes the message whole; system lines have none, and their own content
// is not answered.
func writeContent(b *value.Builder, v value.Value, e Entry) {
	if !e.Queued {
		copyMember(b, v, "message", "message")
		return
	}
	b.Key("message").Record().Key("role").String("user")
	copyMember(b, v.Path("attachment"), "prompt", "content")
	b.End()
}

func (c *Conversation) writeOrigin(b *value.Builder) {
	call, caller := "", ""
	if c.agent != nil {
		call, caller = c.agent.ToolUseID, c.agent.ParentAgentID
	}
	for _, m := range []struct{ key, id string }{{"parent_tool_use_id", call}, {"parent_agent_id", caller}} {
		b.Key(m.key)
		if m.id == "" {
			b.Null()
		} else {
			b.String(m.id)
		}
	}
}

// writeMarks writes the members that only some messages have.
func writeMarks(b *value.Builder, v value.Value, e Entry) {
	if e.Queued {
		b.Key("isQueuedCommand").Bool(true)
		return
	}
	for _, key := range []string{"interruptedByShutdown", "toolDenialUnanswered"} {
		if truthy(v, key) {
			b.Key(key).Bool(true)
		}
	}
	writeResultMark(b, v)
	if truthy(v, "isCompactSummary") {
		b.Key("isCompactSummary").Bool(true)
	}
	if truthy(v, "isMeta") || truthy(v, "isCompactSummary") || truthy(v, "isVisibleInTranscriptOnly") {
		b.Key("is_meta").Bool(true)
	}
	if e.CompletedCommand {
		b.Key("isCompletedLocalCommand").Bool(true)
	}
}

// writeResultMark tells why a call was not carried out.
func writeResultMark(b *value.Builder, v value.Value) {
	kind, ok := str(v, "toolDenialKind")
	if !ok {
		return
	}
	var ids []string
	for block := range v.Path("message", "content").Elements() {
		if t, _ := str(block, "type"); t == "tool_result" {
			id, _ := str(block, "tool_use_id")
			ids = append(ids, id)
		}
	}
	if len(ids) != 1 {
		return
	}
	b.Key("tool_result_meta").Array().Record()
	b.Key("id").String(ids[0]).Key("non_execution_kind").String(kind)
	b.End().End()
}
