package publish

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/collect/value"
	"agentsync/ledger"
	"agentsync/ledger/durable"
	"agentsync/publish/document"
	"agentsync/publish/store"
	"agentsync/publish/store/mem"
)

// desk is a store with an owner, and with what two of the owner's machines and a reader
// make of it.
type desk struct {
	*testing.T
	store    *mem.Store
	owner    *ledger.Identity
	one, two *Target
	reader   *Target // without a key
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{T: t, store: mem.New(), owner: testIdentity(t)}
	d.one = openFor(t, d.store, d.owner, "one")
	d.two = openFor(t, d.store, d.owner, "two")
	d.reader = openFor(t, d.store, nil, "")
	return d
}

func openFor(t testing.TB, s store.Store, owner *ledger.Identity, installation string) *Target {
	t.Helper()
	o := Options{Store: s, FS: durable.OS(), Installation: installation, Rand: rand.Reader}
	if owner != nil {
		o.Signer = owner
	}
	target, err := Open(t.Context(), o)
	if errors.Is(err, ErrNoStore) {
		target, err = Create(t.Context(), o, noon)
	}
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// command is a prompt of the owner of the target's store.
func command(t *Target, id string) ledger.Command {
	payload := value.NewBuilder().Record().Key("text").String("say " + id).End().Finish()
	return ledger.Command{OwnerDID: t.OwnerDID(), ID: id, CreatedAt: stamp(noon), SourceID: "codex",
		NativeSessionID: "s-1", Type: ledger.Prompt, Payload: payload}
}

// claimed is the receipt of a command that is in flight, n seconds after noon.
func claimed(t *Target, id ledger.CommandID, n int) ledger.Receipt {
	return ledger.Receipt{OwnerDID: t.OwnerDID(), CommandID: id, SourceID: "codex", NativeSessionID: "s-1",
		Status: ledger.InFlight, ClaimedAt: stamp(noon.Add(time.Duration(n) * time.Second))}
}

// ended is a receipt with an outcome.
func ended(r ledger.Receipt, status ledger.ReceiptStatus) ledger.Receipt {
	r.Status, r.CompletedAt = status, r.ClaimedAt
	if status != ledger.Succeeded {
		r.Problem = &collect.OperationProblem{Code: "made-up", Message: "for the test"}
	}
	return r
}

func own(id string) ledger.CommandID { return ledger.CommandID{ID: id} }

func (d *desk) send(producer string, signer Signer, c ledger.Command) {
	d.Helper()
	if _, err := d.reader.Send(d.Context(), producer, signer, c); err != nil {
		d.Fatal(err)
	}
}

func (d *desk) claim(t *Target, r ledger.Receipt) {
	d.Helper()
	if won, _, err := t.Claim(d.Context(), r); !won || err != nil {
		d.Fatalf("claim: %v, %v", won, err)
	}
}

func (d *desk) publish(t *Target, r ledger.Receipt) {
	d.Helper()
	if err := t.PublishReceipt(d.Context(), r); err != nil {
		d.Fatal(err)
	}
}

// queued reads the queues and returns the ids, and the code of each refusal by its name.
func (d *desk) queued(skip func(ledger.CommandID) bool) (ids []string, refused map[string]string) {
	d.Helper()
	q, err := d.reader.Queued(d.Context(), skip)
	if err != nil {
		d.Fatal(err)
	}
	refused = map[string]string{}
	for _, p := range q.Refused {
		refused[p.Path] = p.Code
		if strings.Contains(p.Message, "say ") || p.Message == "" {
			d.Errorf("a problem quotes a command, or says nothing: %q", p.Message)
		}
	}
	for _, c := range q.Commands {
		ids = append(ids, strings.TrimPrefix(c.Producer+"/"+c.ID, "/"))
	}
	return ids, refused
}

// read returns a command's receipt as the reader sees it.
func (d *desk) read(id ledger.CommandID) *ledger.SharedReceipt {
	d.Helper()
	r, err := d.reader.ReadReceipt(d.Context(), id)
	if err != nil {
		d.Fatal(err)
	}
	return r
}

// put puts a text under a name, as anybody can who may write into the folder.
func (d *desk) put(name string, text []byte) {
	d.Helper()
	if err := store.PutOnce(d.Context(), d.store, name, text); err != nil {
		d.Fatal(err)
	}
}

// replace puts another text under a name.
func (d *desk) replace(name string, text []byte) {
	d.Helper()
	if err := d.store.Delete(d.Context(), name); err != nil {
		d.Fatal(err)
	}
	d.put(name, text)
}

func (d *desk) text(name string) []byte {
	d.Helper()
	text, err := d.store.Get(d.Context(), name, 0, -1, nil)
	if err != nil {
		d.Fatal(err)
	}
	return text
}

func (d *desk) names(prefix string) (names []string) {
	d.Helper()
	err := d.store.List(d.Context(), prefix, func(e store.Entry) error {
		names = append(names, e.Name)
		return nil
	})
	if err != nil {
		d.Fatal(err)
	}
	return names
}

// sound verifies the store, and returns what was counted.
func (d *desk) sound() VerifyReport {
	d.Helper()
	v, problems := d.verify()
	for _, p := range problems {
		d.Errorf("verify: %s", p)
	}
	for _, p := range v.Refused {
		d.Errorf("verify refuses %s: %s", p.Path, p.Message)
	}
	return v
}

func (d *desk) verify() (v VerifyReport, problems []string) {
	d.Helper()
	v, err := d.reader.Verify(context.Background(), VerifyOptions{Workers: 2})
	if err != nil {
		d.Fatal(err)
	}
	for _, p := range v.Problems {
		problems = append(problems, p.What+": "+p.Message)
	}
	return v, problems
}

func damagedAt(err error) string {
	var damaged *DamagedError
	if errors.As(err, &damaged) {
		return damaged.What
	}
	return fmt.Sprintf("no damage: %v", err)
}

// sealed makes any record a signed one, as a forger with a key of their own can.
func (d *desk) sealed(s *document.Sealed, signer Signer, producer string) []byte {
	return d.one.seal(s, signer, producer)
}
