package ledger

import (
	"errors"
	"time"

	"agentsync/collect"
	"agentsync/collect/value"
)

const (
	receiptSchema = "commonfabric.agent-connector.command-receipt"
	exactTime     = "2006-01-02T15:04:05.000Z"
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

func (s ReceiptStatus) known() bool {
	switch s {
	case Pending, InFlight, Succeeded, Failed, Unsupported, NeedsConfirmation, Unknown:
		return true
	}
	return false
}

// Receipt is what became of a command (spec 5.8).
type Receipt struct {
	OwnerDID            string // "" in a receipt that names no owner
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
// canonical identities, a known status, exact times, the error and the result, which is
// a record or its fvj1: text. Other fields are passed over. It is the one boundary for
// receipts of the ledger and of the store. A *CorruptError names the field, no path, and
// quotes nothing.
func ParseReceipt(record value.Value) (Receipt, error) {
	if record.Kind() != value.Record {
		return Receipt{}, &CorruptError{Field: "receipt", Err: errors.New("is no record")}
	}
	f := receiptFields{record: record}
	if !says(record, "schema", receiptSchema) {
		f.refuse("schema", "is not that of receipts")
	}
	r := Receipt{
		OwnerDID: f.text("ownerDid", false, true),
		CommandID: CommandID{
			Producer: f.id("producer", false, collect.SourceID),
			ID:       f.id("commandId", true, collect.SessionID),
		},
		SourceID:            f.id("sourceId", true, collect.SourceID),
		NativeSessionID:     f.id("nativeSessionId", true, collect.SessionID),
		Status:              ReceiptStatus(f.text("status", true, true)),
		ClaimedAt:           f.time("claimedAt"),
		CompletedAt:         f.time("completedAt"),
		ProviderOperationID: f.text("providerOperationId", false, false),
		Problem:             f.failure(),
		Result:              f.result(),
	}
	if !r.Status.known() {
		f.refuse("status", "is not known")
	}
	if f.problem != nil {
		return Receipt{}, f.problem
	}
	return r, nil
}

// receiptFields reads the fields of one receipt and remembers the first problem.
type receiptFields struct {
	record  value.Value
	problem *CorruptError
}

func (f *receiptFields) refuse(field, reason string) {
	if f.problem == nil {
		f.problem = &CorruptError{Field: field, Err: errors.New(reason)}
	}
}

// text returns a string, "" when it may be and is absent.
func (f *receiptFields) text(field string, required, filled bool) string {
	v, found := f.record.Get(field)
	switch {
	case !required && (!found || v.Kind() == value.Undefined):
		return ""
	case v.Kind() != value.String:
		f.refuse(field, "is no string")
	case filled && len(v.Text()) == 0:
		f.refuse(field, "is empty")
	}
	return v.Str()
}

// id returns a part of an identity, which must be in its canonical form already.
func (f *receiptFields) id(field string, required bool, canonical func(string) (string, error)) string {
	id := f.text(field, required, true)
	if id == "" {
		return ""
	}
	if form, err := canonical(id); err != nil || form != id {
		f.refuse(field, "is not in its canonical form")
	}
	return id
}

// time returns a time that reads as it would be written again.
func (f *receiptFields) time(field string) string {
	text := f.text(field, false, true)
	if text == "" {
		return ""
	}
	if t, err := time.Parse(exactTime, text); err != nil || t.Format(exactTime) != text {
		f.refuse(field, "is no exact time")
	}
	return text
}

func (f *receiptFields) failure() *collect.OperationProblem {
	v, found := f.record.Get("error")
	if !found || v.Kind() == value.Undefined {
		return nil
	}
	code, message, retryable := v.Path("code"), v.Path("message"), v.Path("retryable")
	switch {
	case len(code.Text()) == 0 || code.Kind() != value.String:
		f.refuse("error.code", "is no text")
	case len(message.Text()) == 0 || message.Kind() != value.String:
		f.refuse("error.message", "is no text")
	case retryable.Kind() != value.True && retryable.Kind() != value.False:
		f.refuse("error.retryable", "is no Boolean")
	}
	return &collect.OperationProblem{Code: code.Str(), Message: message.Str(), Retryable: retryable.IsTrue()}
}

func (f *receiptFields) result() value.Value {
	v, found := f.record.Get("result")
	if !found || v.Kind() == value.Undefined {
		return value.Value{}
	}
	if v.Kind() == value.Record {
		return value.NewBuilder().Value(v).Finish()
	}
	if v.Kind() != value.String {
		f.refuse("result", "is no record")
		return value.Value{}
	}
	decoded, err := value.Parse(v.Text())
	if err != nil || decoded.Kind() != value.Record {
		f.refuse("result", "is no fvj1 text of a record")
		return value.Value{}
	}
	return decoded
}

// Value renders the receipt with its fields in the written order (spec 5.8); the result
// comes last, as fvj1: text.
func (r Receipt) Value() value.Value {
	b := value.NewBuilder().Record()
	text := func(field, text string) {
		if text != "" {
			b.Key(field).String(text)
		}
	}
	b.Key("schema").String(receiptSchema)
	text("ownerDid", r.OwnerDID)
	b.Key("commandId").String(r.CommandID.ID)
	b.Key("sourceId").String(r.SourceID)
	text("producer", r.CommandID.Producer)
	b.Key("nativeSessionId").String(r.NativeSessionID)
	b.Key("status").String(string(r.Status))
	text("claimedAt", r.ClaimedAt)
	text("completedAt", r.CompletedAt)
	text("providerOperationId", r.ProviderOperationID)
	if p := r.Problem; p != nil {
		b.Key("error").Record()
		b.Key("code").String(p.Code).Key("message").String(p.Message).Key("retryable").Bool(p.Retryable)
		b.End()
	}
	if r.Result.Kind() != value.Invalid {
		b.Key("result").String(string(value.AppendText([]byte(value.Prefix), r.Result)))
	}
	return b.End().Finish()
}
