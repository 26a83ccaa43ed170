package codex

import "agentsync/collect/value"

// recordTypes are the types of lines that versions of the client were seen to write; older
// ones wrote the items of the model's interface as they were.
var recordTypes = map[string]bool{
	"session_meta": true, "turn_context": true, "world_state": true, "response_item": true, "event_msg": true,
	"compacted": true, "token_usage_record": true,
	"message": true, "reasoning": true, "function_call": true, "function_call_output": true, "local_shell_call": true,
}

// RecordType names a line's type, "" for none, and says whether this version knows it. The
// first line of an old rollout, its states, and the names of threads have no type.
func (d *Driver) RecordType(record value.Value) (name string, known bool) {
	name = record.Path("type").Str()
	if name != "" {
		return name, recordTypes[name]
	}
	for _, field := range []string{"thread_name", "record_type", "instructions"} {
		if _, ok := record.Get(field); ok {
			return "", true
		}
	}
	return "", false
}
