package claude

import "agentsync/collect/value"

// recordTypes are the types of lines that versions of the client were seen to write, or
// are known to read.
var recordTypes = map[string]bool{
	"user": true, "assistant": true, "system": true, "attachment": true, "progress": true,
	"custom-title": true, "ai-title": true, "summary": true, "tag": true, "last-prompt": true, "mode": true, "permission-mode": true,
	"agent-name": true, "queue-operation": true, "file-history-snapshot": true, "attribution-snapshot": true, "cost-state": true,
	"atis-latch": true, "tools-used": true, "api-request": true, "api-request-shape": true, "api-request-blob": true,
	"relocated": true, "continued-in": true, "host-row": true, "pr-link": true, "teleported-from": true,
}

// RecordType names a line's type, "" for none, and says whether this version knows it.
func (d *Driver) RecordType(record value.Value) (name string, known bool) {
	name, _ = str(record, "type")
	return name, recordTypes[name]
}
