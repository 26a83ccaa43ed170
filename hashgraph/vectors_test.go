package hashgraph

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"testing"

	"agentsync/collect/value"
	"agentsync/fixtures/vectors"
)

func load(t testing.TB) vectors.File {
	t.Helper()
	f, err := vectors.Load()
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func described(t testing.TB, descriptor json.RawMessage) value.Value {
	t.Helper()
	v, err := vectors.Value(descriptor)
	if err != nil {
		t.Fatalf("descriptor %.200s: %v", descriptor, err)
	}
	return v
}

func plain(t testing.TB, text json.RawMessage) value.Value {
	t.Helper()
	v, err := vectors.Plain(text)
	if err != nil {
		t.Fatalf("capture %.200s: %v", text, err)
	}
	return v
}

func TestEveryPublishedValueHashesAsPublished(t *testing.T) {
	cases, h, cycles := load(t).Hash.Cases, new(Hasher), 0
	if len(cases) != 139 {
		t.Fatalf("%d cases, want 139", len(cases))
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			v, err := vectors.Value(c.Value)
			if errors.Is(err, vectors.ErrNoValue) {
				cycles++ // a captured value is a tree
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := h.Hash(v).FID(); got != c.FID {
				t.Errorf("hash %s, want %s", got, c.FID)
			}
			if got := hex.EncodeToString(h.feed); got != c.Stream && c.Stream != "" {
				t.Errorf("stream %.400s, want %.400s", got, c.Stream)
			}
		})
	}
	if cycles != 5 {
		t.Errorf("%d vectors are no trees, want 5", cycles)
	}
}

func TestStableHashesAreThePublishedOnes(t *testing.T) {
	f := load(t).StableHash
	if len(f.Cases) != 25 {
		t.Fatalf("%d cases, want 25", len(f.Cases))
	}
	h := new(Hasher)
	for _, c := range f.Cases {
		t.Run(c.Name, func(t *testing.T) {
			v := described(t, c.Value)
			if got := h.StableHash(v).String(); got != c.SHA256 {
				t.Errorf("got %s, want %s", got, c.SHA256)
			}
			if v.Kind() != value.Array {
				return
			}
			if got := h.StableArray(elementsOf(v)).String(); got != c.SHA256 {
				t.Errorf("as a list: got %s, want %s", got, c.SHA256)
			}
		})
	}
}

func elementsOf(v value.Value) []value.Value {
	var list []value.Value
	for e := range v.Elements() {
		list = append(list, e)
	}
	return list
}

func TestModernLinksGiveTheirOwnHash(t *testing.T) {
	f := load(t).StableHash
	h := &Hasher{modern: true}
	if got := h.StableHash(described(t, f.Cases[0].Value)).String(); got != f.Variants[0].SHA256 {
		t.Errorf("got %s, want %s", got, f.Variants[0].SHA256)
	}
}

func TestCellIDsAndCauseHashesAreAsComputed(t *testing.T) {
	cases := load(t).Cells.Cases
	if len(cases) != 14 {
		t.Fatalf("%d cases, want 14", len(cases))
	}
	for _, c := range cases {
		cause := plain(t, c.Cause)
		if got := CellID(cause); got != c.CellID {
			t.Errorf("%s: cell id %s, want %s", c.Name, got, c.CellID)
		}
		if got := Hash(cause).String(); got != c.CauseHash {
			t.Errorf("%s: cause hash %s, want %s", c.Name, got, c.CauseHash)
		}
	}
}

func TestCausesAreThoseOfTheVectors(t *testing.T) {
	c := Causes{SpaceDID: "did:key:space", OwnerDID: "did:key:owner"}
	built := map[string]value.Value{
		"recent index":                         c.RecentIndex(),
		"complete index":                       c.Index(),
		"health":                               c.Health(),
		"commands":                             c.Commands(""),
		"producer commands (workbench)":        c.Commands("workbench"),
		"receipts":                             c.ReceiptIndex(),
		"session (unversioned, legacy)":        c.OldSession("codex", "session"),
		"session version":                      c.session("codex", "session", "codex-app-server", "sha256:first"),
		"session chunk":                        c.chunk("session-chunk", "codex", "session", 0, "sha256:first"),
		"command receipt":                      c.Receipt("command-1", ""),
		"command receipt (producer workbench)": c.Receipt("command-1", "workbench"),
		"index row codex/session-id":           rowCause(c.IndexScope(), "sessions", "key", "codex/session-id"),
		"recentMessages m1 inside that row":    rowCause(rowCause(c.IndexScope(), "sessions", "key", "codex/session-id"), "recentMessages", "id", "m1"),
		"plain string location/2026-07-01 (published golden)": value.NewBuilder().String("location/2026-07-01").Finish(),
	}
	for _, want := range load(t).Cells.Cases {
		if v, ok := built[want.Name]; !ok || CellID(v) != want.CellID {
			t.Errorf("%s: built %v, cause %s", want.Name, ok, value.AppendText(nil, v))
		}
	}
}

func rowCause(scope value.Value, path, field, id string) value.Value {
	identity := value.NewBuilder().Record().Key("field").String(field).Key("value").String(id).End().Finish()
	return causeOf(scope, []string{path}, identity, "", 0)
}
