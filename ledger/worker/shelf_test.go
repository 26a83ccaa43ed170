package worker_test

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"

	"agentsync/collect"
	"agentsync/ledger"
	"agentsync/ledger/durable"
	"agentsync/ledger/worker"
)

// shelf is a target in a folder: a claim and numbered outcomes for each command, each
// created once and synced, and one list of 200 rows. Results of providers are not kept.
type shelf struct {
	disk         durable.FS
	dir          string
	installation string
	mu           *sync.Mutex // guards the list, of all who share the folder
}

var _ worker.Target = (*shelf)(nil)

func newShelf(disk durable.FS, dir, installation string) *shelf {
	return &shelf{disk: disk, dir: dir, installation: installation, mu: new(sync.Mutex)}
}

// note is a receipt as the shelf writes it.
type note struct {
	Owner, Producer, ID, Source, Session, Status string
	ClaimedAt, CompletedAt, Operation            string
	Problem                                      *collect.OperationProblem
	Installation                                 string
}

func (s *shelf) note(r ledger.Receipt) note {
	return note{r.OwnerDID, r.CommandID.Producer, r.CommandID.ID, r.SourceID, r.NativeSessionID, string(r.Status),
		r.ClaimedAt, r.CompletedAt, r.ProviderOperationID, r.Problem, s.installation}
}

func (n note) receipt() ledger.Receipt {
	return ledger.Receipt{OwnerDID: n.Owner, CommandID: ledger.CommandID{Producer: n.Producer, ID: n.ID},
		SourceID: n.Source, NativeSessionID: n.Session, Status: ledger.ReceiptStatus(n.Status),
		ClaimedAt: n.ClaimedAt, CompletedAt: n.CompletedAt, ProviderOperationID: n.Operation, Problem: n.Problem}
}

func (s *shelf) name(id ledger.CommandID, part string) string {
	return path.Join(s.dir, hex.EncodeToString([]byte(id.Key()))+"."+part)
}

func (s *shelf) outcome(id ledger.CommandID, n int) string {
	return s.name(id, fmt.Sprintf("outcome-%d", n))
}

func (s *shelf) create(name string, n note) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return durable.Create(s.disk, name, text, 0o600)
}

func (s *shelf) load(name string) (n note, found bool, err error) {
	text, err := durable.ReadFile(s.disk, name, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return n, false, nil
	}
	if err != nil {
		return n, false, err
	}
	return n, true, json.Unmarshal(text, &n)
}

func (s *shelf) ReadReceipt(ctx context.Context, id ledger.CommandID) (*ledger.SharedReceipt, error) {
	claim, claimed, err := s.load(s.name(id, "claim"))
	if err != nil {
		return nil, err
	}
	shared := &ledger.SharedReceipt{Receipt: claim.receipt(), Installation: claim.Installation}
	for {
		outcome, found, err := s.load(s.outcome(id, shared.Outcomes+1))
		if err != nil {
			return nil, err
		}
		if !found {
			break
		}
		shared.Receipt = outcome.receipt()
		shared.Outcomes++
	}
	if !claimed && shared.Outcomes == 0 {
		return nil, nil
	}
	return shared, ctx.Err()
}

func (s *shelf) Claim(ctx context.Context, r ledger.Receipt) (bool, *ledger.SharedReceipt, error) {
	err := s.create(s.name(r.CommandID, "claim"), s.note(r))
	if errors.Is(err, fs.ErrExist) {
		taken, err := s.ReadReceipt(ctx, r.CommandID)
		return false, taken, err
	}
	return err == nil, nil, err
}

var errFinal = errors.New("the outcome is final")

func (s *shelf) PublishReceipt(ctx context.Context, r ledger.Receipt) error {
	for {
		shared, err := s.ReadReceipt(ctx, r.CommandID)
		if err != nil {
			return err
		}
		next := 1
		if shared != nil {
			next = shared.Outcomes + 1
		}
		if next > 1 && s.same(shared.Receipt, r) {
			return nil
		}
		if next > 1 && shared.Status != ledger.Unknown {
			return errFinal
		}
		err = s.create(s.outcome(r.CommandID, next), s.note(r))
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

func (s *shelf) same(a, b ledger.Receipt) bool {
	one, _ := json.Marshal(s.note(a))
	two, _ := json.Marshal(s.note(b))
	return string(one) == string(two)
}

func (s *shelf) ListReceipts(_ context.Context, receipts []ledger.Receipt) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows, err := s.rows()
	if err != nil {
		return err
	}
	for _, r := range receipts {
		rows = slices.DeleteFunc(rows, func(n note) bool { return n.receipt().CommandID == r.CommandID })
		rows = append(rows, s.note(r))
	}
	text, err := json.Marshal(rows[max(0, len(rows)-200):])
	if err != nil {
		return err
	}
	return durable.Replace(s.disk, path.Join(s.dir, "list"), text, 0o600, true)
}

func (s *shelf) rows() (rows []note, err error) {
	text, err := durable.ReadFile(s.disk, path.Join(s.dir, "list"), 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return rows, json.Unmarshal(text, &rows)
}
