package store

import (
	"fmt"
	"strconv"
	"strings"

	"agentsync/collect"
	"agentsync/hashgraph/digest"
)

// Prefixes of what remote commands leave in a store, for List.
const (
	QueuesPrefix   = "queues/"
	ReceiptsPrefix = "receipts/"
)

// ownerQueue is the folder of the owner's own queue. Encoded text never holds an '@'.
const ownerQueue = "@owner"

// Limits of one encoded identity in a name. Two of them, an '@' and ".json" stay below
// the longest file name.
const (
	maxSpelled = 200 // bytes
	maxPaired  = 120 // bytes, for each half of a producer's receipt
)

// digested starts a segment that holds the digest of an identity instead of its text.
// No encoded text holds it: encodeURIComponent escapes '=', and leaves '~'.
const digested = "="

// spell renders an identity as a segment of a name: percent-encoded, or "=" and the
// SHA-256 of its text where that is too long, would be hidden, would look like a file
// beside a folder, or is no file name on some systems.
func spell(identity string, limit int) string {
	s := collect.EncodeComponent(identity)
	if len(s) > limit || s == "" || s[0] == '.' || s[len(s)-1] == '.' || strings.Contains(s, "*") ||
		len(s) >= len(".json") && strings.EqualFold(s[len(s)-len(".json"):], ".json") {
		return digested + digest.Sum([]byte(identity)).Hex()
	}
	return s
}

// readSegment takes a segment apart that spell made. told is false where it holds a digest.
func readSegment(segment string, limit int) (identity string, told, ok bool) {
	if simple(segment) && len(segment) <= limit {
		return segment, true, true
	}
	if hex, found := strings.CutPrefix(segment, digested); found {
		d, err := digest.Parse(hex)
		return "", false, err == nil && d.Hex() == hex
	}
	identity, ok = collect.DecodeComponent(segment)
	return identity, true, ok && spell(identity, limit) == segment
}

// simple reports a segment that can only stand for itself, as most ids do.
func simple(segment string) bool {
	for i := range len(segment) {
		c := segment[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return segment != ""
}

func queueFolder(producer string) string {
	if producer == "" {
		return ownerQueue
	}
	return spell(producer, maxSpelled)
}

// CommandName is the name of a command in a producer's queue; "" is the owner's own.
func CommandName(producer, id string) string {
	return QueuesPrefix + queueFolder(producer) + "/" + spell(id, maxSpelled) + ".json"
}

// BindingName is the name of what binds a producer's queue to a key.
func BindingName(producer string) string {
	return QueuesPrefix + spell(producer, maxSpelled) + ".json"
}

// QueuedName is what the name of something in a queue tells.
type QueuedName struct {
	Queue   string // the queue's folder, a single segment
	Binding bool   // it is what binds the queue, no command
	ID      string // of the command, when Told
	Told    bool   // the name spells the id
}

// ParseQueuedName reads back what CommandName or BindingName wrote; a *NameError
// otherwise. A name that holds a digest does not tell the id.
func ParseQueuedName(name string) (QueuedName, error) {
	refused := &NameError{name, "is not the name of a command"}
	rest, below := strings.CutPrefix(name, QueuesPrefix)
	rest, ends := strings.CutSuffix(rest, ".json")
	if !below || !ends {
		return QueuedName{}, refused
	}
	queue, file, nested := strings.Cut(rest, "/")
	if _, _, ok := readSegment(queue, maxSpelled); !ok && (queue != ownerQueue || !nested) {
		return QueuedName{}, refused
	}
	if !nested {
		return QueuedName{Queue: queue, Binding: true}, nil
	}
	id, told, ok := readSegment(file, maxSpelled)
	if !ok {
		return QueuedName{}, refused
	}
	return QueuedName{Queue: queue, ID: id, Told: told}, nil
}

// ReceiptPrefix is the folder of a command's claim and outcomes, for List.
func ReceiptPrefix(producer, id string) string {
	if producer == "" {
		return ReceiptsPrefix + spell(id, maxSpelled) + "/"
	}
	return ReceiptsPrefix + spell(producer, maxPaired) + "@" + spell(id, maxPaired) + "/"
}

const claimFile = "claim.json"

// ClaimName is the name of the claim of a command.
func ClaimName(producer, id string) string { return ReceiptPrefix(producer, id) + claimFile }

// OutcomeName is the name of a command's n-th outcome; n is positive.
func OutcomeName(producer, id string, n int) string {
	return fmt.Sprintf("%soutcome-%d.json", ReceiptPrefix(producer, id), n)
}

// ReceiptName is what the name of a claim or an outcome tells.
type ReceiptName struct {
	Folder   string // of the receipt, a single segment
	Outcome  int    // its number, 0 for the claim
	Producer string // when Told
	ID       string // when Told
	Told     bool   // the name spells the command's identity
}

// ParseReceiptName reads back what ClaimName or OutcomeName wrote; a *NameError
// otherwise. A name that holds a digest does not tell the identity.
func ParseReceiptName(name string) (ReceiptName, error) {
	refused := &NameError{name, "is not the name of a claim or an outcome"}
	rest, below := strings.CutPrefix(name, ReceiptsPrefix)
	folder, file, nested := strings.Cut(rest, "/")
	r := ReceiptName{Folder: folder}
	if !below || !nested || !r.readFolder() {
		return ReceiptName{}, refused
	}
	if file == claimFile {
		return r, nil
	}
	digits, starts := strings.CutPrefix(file, "outcome-")
	digits, ends := strings.CutSuffix(digits, ".json")
	n, err := strconv.ParseInt(digits, 10, 32)
	if !starts || !ends || err != nil || n < 1 || strconv.FormatInt(n, 10) != digits {
		return ReceiptName{}, refused
	}
	r.Outcome = int(n)
	return r, nil
}

// readFolder reports whether the folder is one that ReceiptPrefix makes.
func (r *ReceiptName) readFolder() bool {
	var ok bool
	producer, id, paired := strings.Cut(r.Folder, "@")
	if !paired {
		r.ID, r.Told, ok = readSegment(r.Folder, maxSpelled)
		return ok
	}
	var toldProducer, okID bool
	r.Producer, toldProducer, ok = readSegment(producer, maxPaired)
	r.ID, r.Told, okID = readSegment(id, maxPaired)
	if r.Told = r.Told && toldProducer; !r.Told {
		r.Producer, r.ID = "", ""
	}
	return ok && okID
}
