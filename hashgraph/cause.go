package hashgraph

import (
	"agentsync/collect/value"
	"agentsync/hashgraph/digest"
)

// Causes makes the causes of one owner's cells in one space (spec 5.3), and the base
// scopes of the array elements within them.
type Causes struct{ SpaceDID, OwnerDID string }

// field is one field of a cause beyond those that all have.
type field struct {
	key  string
	text string
	part int
}

func (c Causes) make(connector string, fields ...field) value.Value {
	b := value.NewBuilder().Record()
	b.Key("spaceDid").String(c.SpaceDID).Key("ownerDid").String(c.OwnerDID).Key("agentConnector").String(connector)
	for _, f := range fields {
		switch b.Key(f.key); f.key {
		case "part":
			b.Int(int64(f.part))
		default:
			b.String(f.text)
		}
	}
	return b.End().Finish()
}

func session(sourceID, nativeID string) []field {
	return []field{{key: "sourceId", text: sourceID}, {key: "nativeSessionId", text: nativeID}}
}

// producing is the field of a producer's queue, none for the owner's own.
func producing(producer string) []field {
	if producer == "" {
		return nil
	}
	return []field{{key: "producer", text: producer}}
}

// RecentIndex is the cause of the index of the last days' sessions.
func (c Causes) RecentIndex() value.Value { return c.make("recent-session-index") }

// Index is the cause of the complete session index.
func (c Causes) Index() value.Value { return c.make("all-session-index") }

// Health is the cause of the health document.
func (c Causes) Health() value.Value { return c.make("health") }

// ReceiptIndex is the cause of the list of receipts.
func (c Causes) ReceiptIndex() value.Value { return c.make("receipts") }

// Commands is the cause of a command queue; producer is "" for the owner's own.
func (c Causes) Commands(producer string) value.Value {
	return c.make("commands", producing(producer)...)
}

// Session is the cause of one content of a session's manifest.
func (c Causes) Session(sourceID, nativeID, driver string, manifest digest.Digest) value.Value {
	return c.session(sourceID, nativeID, driver, manifest.String())
}

func (c Causes) session(sourceID, nativeID, driver, manifest string) value.Value {
	return c.make("session-version", append(session(sourceID, nativeID),
		field{key: "driver", text: driver}, field{key: "contentHash", text: manifest})...)
}

// OldSession is the cause under which earlier writers kept a session's one manifest.
func (c Causes) OldSession(sourceID, nativeID string) value.Value {
	return c.make("session", session(sourceID, nativeID)...)
}

// Chunk is the cause of one content of a session's part.
func (c Causes) Chunk(sourceID, nativeID string, part int, content digest.Digest) value.Value {
	return c.chunk("session-chunk", sourceID, nativeID, part, content.String())
}

func (c Causes) chunk(connector, sourceID, nativeID string, part int, content string) value.Value {
	return c.make(connector, append(session(sourceID, nativeID),
		field{key: "part", part: part}, field{key: "contentHash", text: content})...)
}

// Receipt is the cause of one command's receipt; producer is "" for the owner's queue.
func (c Causes) Receipt(commandID, producer string) value.Value {
	return c.make("command-receipt", append([]field{{key: "commandId", text: commandID}}, producing(producer)...)...)
}

// EventScope is the base scope of the elements of a chunk.
func (c Causes) EventScope(sourceID, nativeID string, part int, content digest.Digest) value.Value {
	return c.chunk("session-events-array-elements", sourceID, nativeID, part, content.String())
}

// SessionScope is the base scope of the elements of a manifest.
func (c Causes) SessionScope(sourceID, nativeID string, manifest digest.Digest) value.Value {
	return c.make("session-array-elements", append(session(sourceID, nativeID),
		field{key: "manifestHash", text: manifest.String()})...)
}

// IndexScope is the base scope of the elements of either session index.
func (c Causes) IndexScope() value.Value { return c.make("session-index-array-elements") }

// HealthScope is the base scope of the elements of the health document.
func (c Causes) HealthScope() value.Value { return c.make("health-array-elements") }

// ReceiptScope is the base scope of the elements of a command's receipt.
func (c Causes) ReceiptScope(commandID, producer string) value.Value {
	return c.make("command-receipt-array-elements", append([]field{{key: "commandId", text: commandID}}, producing(producer)...)...)
}

// ReceiptIndexScope is the base scope of the elements of the list of receipts.
func (c Causes) ReceiptIndexScope() value.Value {
	return c.make("command-receipt-index-array-elements")
}
