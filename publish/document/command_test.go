package document

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"agentsync/collect"
	"agentsync/collect/value"
	"agentsync/hashgraph"
	"agentsync/ledger"
)

const moment = "2026-03-01T12:00:00.000Z"

var testCauses = hashgraph.Causes{SpaceDID: "did:key:space", OwnerDID: "did:key:owner"}

func testReceipt(status ledger.ReceiptStatus) ledger.Receipt {
	r := ledger.Receipt{OwnerDID: testCauses.OwnerDID, CommandID: ledger.CommandID{Producer: "web", ID: "1"},
		SourceID: "codex", NativeSessionID: "s", Status: status, ClaimedAt: moment}
	if status.Terminal() {
		r.CompletedAt = moment
		r.Result = value.NewBuilder().Record().Key("none").Undefined().Key("/slash").Number(1).End().Finish()
		r.Problem = &collect.OperationProblem{Code: "c", Message: "m", Retryable: true}
	}
	return r
}

// remoteDocuments are one record of each kind, by its schema.
func remoteDocuments() map[string]*Sealed {
	payload := value.NewBuilder().Record().Key("text").String("\x00\xed\xa0\x80 & <ü>").Key("signature").Null().End().Finish()
	c := ledger.Command{OwnerDID: testCauses.OwnerDID, ID: "1", CreatedAt: moment, SourceID: "codex", NativeSessionID: "s",
		Type: ledger.Prompt, Payload: payload}
	claim := Claim{Installation: "i", Nonce: "n", Receipt: testReceipt(ledger.InFlight)}
	outcome := Outcome{Number: 3, Installation: "i", Receipt: testReceipt(ledger.Failed)}
	producer := Producer{OwnerDID: testCauses.OwnerDID, Name: "web", DID: "did:key:web", Time: moment}
	return map[string]*Sealed{SchemaCommand: SealCommand(c, "did:key:web"), SchemaClaim: claim.Seal("o"),
		SchemaOutcome: outcome.Seal("o"), SchemaProducer: producer.Seal("o")}
}

func TestSealedRecordsAreReadBack(t *testing.T) {
	for schema, s := range remoteDocuments() {
		s.Signature = []byte{0xff, 0, 1}
		got, err := ParseSealed(s.Text(), schema)
		if err != nil {
			t.Errorf("%s: %v", schema, err)
			continue
		}
		if !bytes.Equal(got.Message("s", "q"), s.Message("s", "q")) || !bytes.Equal(got.Signature, s.Signature) || got.Signer != s.Signer {
			t.Errorf("%s came back as %s", schema, got.Text())
		}
		if other, err := ParseSealed(s.Text(), SchemaHead); err == nil {
			t.Errorf("%s was read as a head: %v", schema, other)
		}
		unsigned := append(value.AppendText(nil, s.Record), '\n')
		if _, err := ParseSealed(unsigned, schema); !errors.Is(err, ErrUnsigned) {
			t.Errorf("%s without a signature: %v", schema, err)
		}
	}
	docs := remoteDocuments()
	claim, err := ParseClaim(docs[SchemaClaim])
	if err != nil || claim.Installation != "i" || claim.Nonce != "n" || claim.Receipt.CommandID.Producer != "web" {
		t.Errorf("%+v, %v", claim, err)
	}
	outcome, err := ParseOutcome(docs[SchemaOutcome])
	if err != nil || outcome.Number != 3 || outcome.Receipt.Status != ledger.Failed || outcome.Receipt.Result.Len() != 2 {
		t.Errorf("%+v, %v", outcome, err)
	}
	if p, err := ParseProducer(docs[SchemaProducer]); err != nil || p.DID != "did:key:web" || p.Name != "web" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestASignatureCountsInOnePlaceOnly(t *testing.T) {
	seen := map[string]string{}
	for schema, s := range remoteDocuments() {
		for _, space := range []string{"did:key:a", "did:key:b"} {
			for _, queue := range []string{"", "web", "phone"} {
				what := strings.Join([]string{schema, space, queue}, " ")
				message := string(s.Message(space, queue))
				if other, met := seen[message]; met {
					t.Errorf("%s and %s are signed alike", what, other)
				}
				seen[message] = what
			}
		}
	}
}

func TestAClaimIsInFlightAndAnOutcomeIsTerminal(t *testing.T) {
	ended := Claim{Installation: "i", Nonce: "n", Receipt: testReceipt(ledger.Failed)}
	if _, err := ParseClaim(ended.Seal("o")); err == nil {
		t.Error("a claim that has ended was read")
	}
	running := Outcome{Number: 1, Installation: "i", Receipt: testReceipt(ledger.InFlight)}
	if _, err := ParseOutcome(running.Seal("o")); err == nil {
		t.Error("an outcome in flight was read")
	}
	unnamed := Producer{OwnerDID: "o", Name: "Web", DID: "d", Time: moment}
	if _, err := ParseProducer(unnamed.Seal("o")); err == nil {
		t.Error("a producer's name with an upper-case letter was read")
	}
}

func testList() *ReceiptList {
	other := testReceipt(ledger.InFlight)
	other.CommandID = ledger.CommandID{ID: "1"}
	return &ReceiptList{UpdatedAt: moment, Rows: []ReceiptRow{ReceiptRowOf(testReceipt(ledger.Failed)), ReceiptRowOf(other)}}
}

func TestTheListOfReceiptsHasTheFieldsOfTheConnector(t *testing.T) {
	v := testList().Value(testCauses)
	got := string(value.AppendText(nil, v.Path("receipts")))
	web := hashgraph.CellID(testCauses.Receipt("1", "web"))
	if !strings.Contains(got, `{"commandId":"1","error":{"code":"c","message":"m","retryable":true},"nativeSessionId":"s","ownerDid":"did:key:owner",`+
		`"producer":"web","receipt":{"id":"`+web+`","path":[],"space":"did:key:space"},"sourceId":"codex","status":"failed","updatedAt":"`+moment+`"}`) {
		t.Error(got)
	}
	if v.Path("schema").Str() != "commonfabric.agent-connector.command-receipts" || v.Path("updatedAt").Str() != moment {
		t.Error(string(value.AppendText(nil, v)))
	}
	list, err := ParseReceiptList(v, testCauses)
	if err != nil || len(list.Rows) != 2 || !list.Rows[0].Equal(testList().Rows[0]) || !list.Rows[1].Equal(testList().Rows[1]) {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestAListWithTooManyRowsIsRefused(t *testing.T) {
	list := &ReceiptList{UpdatedAt: moment}
	for i := range MaxReceiptRows + 1 {
		r := testReceipt(ledger.Failed)
		r.CommandID.ID = strings.Repeat("x", i+1)
		list.Rows = append(list.Rows, ReceiptRowOf(r))
	}
	if _, err := ParseReceiptList(list.Value(testCauses), testCauses); err == nil {
		t.Error("read")
	}
	list.Rows = list.Rows[1:]
	if _, err := ParseReceiptList(list.Value(testCauses), testCauses); err != nil {
		t.Error(err)
	}
}

// FuzzRemoteDocuments feeds the parsers of what anybody may put into a queue's folder; what
// one accepts must render to a text that it accepts again, as the same thing.
func FuzzRemoteDocuments(f *testing.F) {
	for _, s := range remoteDocuments() {
		s.Signature = []byte("signature")
		f.Add(s.Text())
	}
	head := &Head{Name: "receipts", Generation: 1, Nonce: "n", Writer: "w", Installation: "i", Time: moment, List: testList().Value(testCauses)}
	f.Add(head.Text())
	f.Fuzz(func(t *testing.T, doc []byte) {
		for schema := range remoteDocuments() {
			s, err := ParseSealed(doc, schema)
			if err != nil {
				continue
			}
			again, err := ParseSealed(s.Text(), schema)
			if err != nil || !bytes.Equal(again.Message("s", "q"), s.Message("s", "q")) {
				t.Errorf("%s: %v", schema, err)
			}
			if c, err := ParseClaim(s); err == nil {
				if _, err := ParseClaim(c.Seal("o")); err != nil {
					t.Errorf("claim: %v", err)
				}
			}
			if o, err := ParseOutcome(s); err == nil {
				if _, err := ParseOutcome(o.Seal("o")); err != nil {
					t.Errorf("outcome: %v", err)
				}
			}
			if p, err := ParseProducer(s); err == nil {
				if _, err := ParseProducer(p.Seal("o")); err != nil {
					t.Errorf("producer: %v", err)
				}
			}
		}
		h, err := ParseHead(doc, &Packs{})
		if err != nil || !h.Root.IsZero() {
			return
		}
		if list, err := ParseReceiptList(h.List, testCauses); err == nil {
			if _, err := ParseReceiptList(list.Value(testCauses), testCauses); err != nil {
				t.Errorf("list: %v", err)
			}
		}
	})
}
