package store_test

import (
	"strings"
	"testing"

	"agentsync/publish/store"
)

// identities are ids and producers that a file name could mistake for something else.
var identities = []string{
	"one", "One", "0195-abc", "a/b", "../x", ".", "..", ".hidden", "ends.", "x.json", "X.JSON", ".json", "claim", "claim.json",
	"outcome-1", "@owner", "a@b", "=x", "~x", "a=b", "%41", "A", "stern*", "ü", "日本", "con", strings.Repeat("a", 200),
	strings.Repeat("a", 201), strings.Repeat("ü", 34), strings.Repeat("a", 256), strings.Repeat("b", 121), "a b", "a\u00a0b",
	"=" + strings.Repeat("0", 64),
}

func TestCommandNamesAreReadBackAndDiffer(t *testing.T) {
	seen := map[string]string{}
	meet := func(name, what string) {
		if err := store.CheckName(name); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if other, taken := seen[name]; taken {
			t.Errorf("%s and %s share the name %s", what, other, name)
		}
		seen[name] = what
	}
	for _, producer := range append([]string{""}, identities...) {
		if producer != "" {
			meet(store.BindingName(producer), "binding of "+producer)
			if q, err := store.ParseQueuedName(store.BindingName(producer)); err != nil || !q.Binding {
				t.Errorf("binding of %.20q: %+v, %v", producer, q, err)
			}
		}
		for _, id := range identities {
			what := producer + " and " + id
			command := store.CommandName(producer, id)
			meet(command, "command "+what)
			q, err := store.ParseQueuedName(command)
			if err != nil || q.Binding || q.Told && q.ID != id || !strings.HasPrefix(command, "queues/"+q.Queue+"/") {
				t.Errorf("%s: %+v, %v", command, q, err)
			}
			for n, name := range []string{store.ClaimName(producer, id), store.OutcomeName(producer, id, 1), store.OutcomeName(producer, id, 2)} {
				meet(name, "receipt "+what)
				r, err := store.ParseReceiptName(name)
				if err != nil || r.Outcome != n || r.Told && (r.ID != id || r.Producer != producer) ||
					!strings.HasPrefix(name, "receipts/"+r.Folder+"/") {
					t.Errorf("%s: %+v, %v", name, r, err)
				}
			}
		}
	}
	for name := range seen { // a file never stands where a folder is needed
		for folder := name; strings.Contains(folder, "/"); {
			folder = folder[:strings.LastIndex(folder, "/")]
			if what, taken := seen[folder]; taken {
				t.Errorf("%s lies below the file of %s", name, what)
			}
		}
	}
}

func TestOrdinaryCommandNamesTellTheirIdentity(t *testing.T) {
	if got := store.CommandName("", "a/b"); got != "queues/@owner/a%2Fb.json" {
		t.Error(got)
	}
	if got := store.CommandName("web ui", "1"); got != "queues/web%20ui/1.json" {
		t.Error(got)
	}
	if got := store.OutcomeName("web", "1", 12); got != "receipts/web@1/outcome-12.json" {
		t.Error(got)
	}
	if q, err := store.ParseQueuedName("queues/@owner/a%2Fb.json"); err != nil || !q.Told || q.ID != "a/b" || q.Queue != "@owner" {
		t.Errorf("%+v, %v", q, err)
	}
	if r, err := store.ParseReceiptName("receipts/web@1/claim.json"); err != nil || !r.Told || r.ID != "1" || r.Producer != "web" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestNamesThatNoCommandHasAreRefused(t *testing.T) {
	for _, name := range []string{
		"", "queues/", "queues/@owner.json", "queues/@owner/", "queues/@owner/x", "queues/@owner/.json", "queues/@owner/a/b.json",
		"queues/@other/x.json", "queues/a@b/x.json", "queues/@owner/%2f.json", "queues/@owner/%41.json", "queues/@owner/a b.json",
		"queues/@owner/=00.json", "queues/@owner/=" + strings.Repeat("A", 64) + ".json", "queues//x.json", "queues/@owner/.x.json",
		"xqueues/@owner/x.json", "queues/@owner/x.json.json",
	} {
		if q, err := store.ParseQueuedName(name); err == nil {
			t.Errorf("%q was read as %+v", name, q)
		}
	}
	for _, name := range []string{
		"", "receipts/x", "receipts/x/", "receipts/x/claim", "receipts/x/claim.json/y", "receipts/x/outcome-0.json",
		"receipts/x/outcome-01.json", "receipts/x/outcome-+1.json", "receipts/x/outcome--1.json", "receipts/x/outcome-.json",
		"receipts/x/outcome-9999999999.json", "receipts/@x/claim.json", "receipts/x@/claim.json", "receipts/a@b@c/claim.json",
		"receipts//claim.json", "receipts/a/b/claim.json",
	} {
		if r, err := store.ParseReceiptName(name); err == nil {
			t.Errorf("%q was read as %+v", name, r)
		}
	}
}

// FuzzCommandNames holds that a name which is read is the one that what was read makes.
func FuzzCommandNames(f *testing.F) {
	for _, id := range identities {
		f.Add(store.CommandName("", id))
		f.Add(store.CommandName(id, "x"))
		f.Add(store.BindingName(id))
		f.Add(store.ClaimName(id, id))
		f.Add(store.OutcomeName("", id, 3))
	}
	f.Fuzz(func(t *testing.T, name string) {
		if q, err := store.ParseQueuedName(name); err == nil && !q.Binding && q.Told {
			if q.Queue == "@owner" && store.CommandName("", q.ID) != name {
				t.Errorf("%q was read as %+v", name, q)
			}
		}
		r, err := store.ParseReceiptName(name)
		if err != nil || !r.Told {
			return
		}
		again := store.ClaimName(r.Producer, r.ID)
		if r.Outcome > 0 {
			again = store.OutcomeName(r.Producer, r.ID, r.Outcome)
		}
		if again != name {
			t.Errorf("%q was read as %+v", name, r)
		}
	})
}
