package document

import (
	"agentsync/collect"
	"agentsync/collect/value"
	"agentsync/hashgraph"
	"agentsync/ledger"
)

// MaxReceiptRows is how many commands the list of receipts holds (spec 5.8).
const MaxReceiptRows = 200

// ReceiptRow is one row of the list of receipts.
type ReceiptRow struct {
	CommandID       ledger.CommandID
	SourceID        string
	NativeSessionID string
	Status          ledger.ReceiptStatus
	UpdatedAt       string // when it was completed, else when it was claimed
	Problem         *collect.OperationProblem
}

// ReceiptRowOf is the row of a receipt.
func ReceiptRowOf(r ledger.Receipt) ReceiptRow {
	row := ReceiptRow{CommandID: r.CommandID, SourceID: r.SourceID, NativeSessionID: r.NativeSessionID,
		Status: r.Status, UpdatedAt: r.CompletedAt, Problem: r.Problem}
	if row.UpdatedAt == "" {
		row.UpdatedAt = r.ClaimedAt
	}
	return row
}

// Equal reports that two rows say the same.
func (r ReceiptRow) Equal(o ReceiptRow) bool {
	same := r.Problem == o.Problem || r.Problem != nil && o.Problem != nil && *r.Problem == *o.Problem
	r.Problem, o.Problem = nil, nil
	return same && r == o
}

// ReceiptList is one state of the list of the newest receipts.
type ReceiptList struct {
	UpdatedAt string
	Rows      []ReceiptRow // the newest last
}

// Value renders the list for the owner and space of the causes.
func (l *ReceiptList) Value(c hashgraph.Causes) value.Value {
	b := value.NewBuilder().Record().Key("schema").String(SchemaReceiptList)
	b.Key("ownerDid").String(c.OwnerDID).Key("spaceDid").String(c.SpaceDID).Key("updatedAt").String(l.UpdatedAt)
	b.Key("receipts").Array()
	var hasher hashgraph.Hasher
	for i := range l.Rows {
		l.Rows[i].build(b, c, &hasher)
	}
	return b.End().End().Finish()
}

func (r *ReceiptRow) build(b *value.Builder, c hashgraph.Causes, hasher *hashgraph.Hasher) {
	b.Record().Key("commandId").String(r.CommandID.ID).Key("ownerDid").String(c.OwnerDID)
	b.Key("sourceId").String(r.SourceID).Key("nativeSessionId").String(r.NativeSessionID)
	given(b, "producer", r.CommandID.Producer)
	b.Key("status").String(string(r.Status)).Key("updatedAt").String(r.UpdatedAt)
	if p := r.Problem; p != nil {
		b.Key("error").Record().Key("code").String(p.Code).Key("message").String(p.Message).
			Key("retryable").Bool(p.Retryable).End()
	}
	b.Key("receipt")
	hashgraph.BuildPlainLink(b, hasher.CellID(c.Receipt(r.CommandID.ID, r.CommandID.Producer)), c.SpaceDID)
	b.End()
}

// ParseReceiptList reads a list. Every row must be valid, of the owner and space of the
// causes, linked to its receipt's cell, and the only one of its command.
func ParseReceiptList(v value.Value, c hashgraph.Causes) (*ReceiptList, error) {
	r := &reader{schema: SchemaReceiptList, v: v}
	if r.str("schema") != SchemaReceiptList || r.str("ownerDid") != c.OwnerDID || r.str("spaceDid") != c.SpaceDID {
		r.fail("schema", "is not that of this owner's list in this space")
		return nil, r.err
	}
	l := &ReceiptList{UpdatedAt: r.str("updatedAt")}
	rows := r.list("receipts")
	if len(rows) > MaxReceiptRows {
		r.fail("receipts", "has more rows than a list may")
		return nil, r.err
	}
	var hasher hashgraph.Hasher
	seen := map[ledger.CommandID]bool{}
	for _, v := range rows {
		row := r.receiptRow(v, c, &hasher)
		if r.err != nil {
			return nil, r.err
		}
		if seen[row.CommandID] {
			r.fail("receipts", "has a command twice")
		}
		seen[row.CommandID] = true
		l.Rows = append(l.Rows, row)
	}
	return l, r.err
}

// receiptRow reads one row. What it says of the command is checked as a receipt is.
func (r *reader) receiptRow(v value.Value, c hashgraph.Causes, hasher *hashgraph.Hasher) ReceiptRow {
	sub := r.sub(v)
	receipt := ledger.Receipt{OwnerDID: sub.str("ownerDid"), SourceID: sub.str("sourceId"),
		NativeSessionID: sub.str("nativeSessionId"), Status: ledger.ReceiptStatus(sub.str("status")),
		ClaimedAt: sub.str("updatedAt"), CommandID: ledger.CommandID{ID: sub.str("commandId")}}
	if p := sub.optional("producer"); p != nil {
		receipt.CommandID.Producer = *p
	}
	if e, found := v.Get("error"); found {
		p := sub.sub(e)
		receipt.Problem = &collect.OperationProblem{Code: p.str("code"), Message: p.str("message"), Retryable: p.boolean("retryable")}
		sub.take(p.err)
	}
	if receipt.Status.Terminal() {
		receipt.CompletedAt, receipt.ClaimedAt = receipt.ClaimedAt, ""
	}
	sub.plainLink("receipt", hasher.CellID(c.Receipt(receipt.CommandID.ID, receipt.CommandID.Producer)), c.SpaceDID)
	if sub.err == nil && receipt.OwnerDID != c.OwnerDID {
		sub.fail("ownerDid", "is not the owner's")
	}
	if sub.err == nil {
		_, err := ledger.ParseReceipt(receipt.Value())
		sub.take(err)
	}
	r.take(sub.err)
	row := ReceiptRowOf(receipt)
	if r.err == nil && row.UpdatedAt == "" {
		r.fail("updatedAt", "is empty")
	}
	return row
}

// take notes an error that another reader met.
func (r *reader) take(err error) {
	if err != nil {
		r.fail("receipts", err.Error())
	}
}

// plainLink checks that a field is the plain link to the cell of that id.
func (r *reader) plainLink(field, id, space string) {
	link := r.sub(r.get(field))
	if link.str("id") != id || link.str("space") != space || len(link.list("path")) != 0 || link.err != nil {
		r.fail(field, "is not the link to its receipt")
	}
}
