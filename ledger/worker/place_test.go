package worker_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"agentsync/collect"
	"agentsync/ledger"
	"agentsync/ledger/worker"
)

func TestAStartStandsOnlyWhereItMay(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(path string) string { return root + string(filepath.Separator) + filepath.FromSlash(path) }
	for _, dir := range []string{"app/sub", "etc", "other/sub"} {
		if err := os.MkdirAll(at(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"app/out": "etc", "in": "app/sub", "other/in": "app/sub"} {
		if err := os.Symlink(at(to), at(link)); err != nil {
			t.Skip("this system makes no links here: ", err)
		}
	}
	type ask struct {
		cwd, producer string
		folders       []string // of the binding
		own           []string // of the source
		force         bool
	}
	const runs, says = "", "outside"
	const outside, unresolved = "start-outside-folders", "start-folder-unresolved"
	app := []string{at("app")}
	for name, test := range map[string]struct {
		ask  ask
		want string
	}{
		"a producer's, below its folder":           {ask{at("app/sub"), "web", app, nil, false}, runs},
		"a producer's, in its folder":              {ask{at("app"), "web", app, nil, false}, runs},
		"a producer's, by a link into its folder":  {ask{at("in"), "web", app, nil, false}, runs},
		"a producer's, elsewhere":                  {ask{at("etc"), "web", app, nil, false}, outside},
		"a producer's, with dots":                  {ask{at("app/sub/../../etc"), "web", app, nil, false}, outside},
		"a producer's, by a link out":              {ask{at("app/out"), "web", app, nil, false}, outside},
		"a producer's, beside its folder":          {ask{at("app") + "2", "web", app, nil, false}, unresolved},
		"a producer's, with dots after a link":     {ask{at("other/in/../sub"), "web", app, nil, false}, outside},
		"a producer's, forced":                     {ask{at("etc"), "web", app, nil, true}, outside},
		"a producer's, in the source's folder":     {ask{at("etc"), "web", app, []string{at("etc")}, false}, outside},
		"a producer's, without a folder":           {ask{at("app"), "web", nil, nil, false}, outside},
		"a producer's that names none":             {ask{"", "web", nil, nil, false}, runs},
		"the owner's, below the source's":          {ask{at("app/sub"), "", nil, app, false}, runs},
		"the owner's, elsewhere":                   {ask{at("etc"), "", nil, app, false}, outside},
		"the owner's, by a link out":               {ask{at("app/out"), "", nil, app, false}, outside},
		"the owner's, elsewhere, forced":           {ask{at("etc"), "", nil, app, true}, says},
		"the owner's, below the source's, forced":  {ask{at("app"), "", nil, app, true}, runs},
		"the owner's, nowhere":                     {ask{at("none"), "", nil, app, false}, unresolved},
		"the owner's, of a source without folders": {ask{at("etc"), "", nil, nil, false}, runs},
		"the owner's, of a source one cannot tell": {ask{at("app"), "", nil, []string{"?"}, false}, unresolved},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.options.Resolve = filepath.EvalSymlinks
			w.options.Folders = func(string) ([]string, error) {
				if len(test.ask.own) == 1 && test.ask.own[0] == "?" {
					return nil, errors.New("no view")
				}
				return test.ask.own, nil
			}
			w.acts(collect.Outcome{Status: collect.Succeeded}, nil)
			fields := []string{"text", "Look."}
			if test.ask.cwd != "" {
				fields = append(fields, "cwd", test.ask.cwd)
			}
			q := command("1", ledger.Start, fields...)
			q.Producer, q.Folders, q.Force = test.ask.producer, test.ask.folders, test.ask.force
			w.mustRun(q)
			r, found, err := w.ledger.Get(q.ID())
			if err != nil || !found {
				t.Fatal(found, err)
			}
			if test.want == runs || test.want == says {
				w.calls(1)
				if r.Status != ledger.Succeeded || r.Result.Path("outsideFolders").IsTrue() != (test.want == says) {
					t.Errorf("%+v", r)
				}
				return
			}
			w.calls(0)
			if r.Status != ledger.Failed || r.Problem == nil || r.Problem.Code != test.want {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestAFolderIsBelowAnotherByItsParts(t *testing.T) {
	for _, test := range []struct {
		folder, above string
		want          bool
	}{{"/a/b", "/a", true}, {"/a", "/a", true}, {"/a", "/", true}, {"/ab", "/a", false}, {"/a/../b", "/a", false}, {"/", "/a", false}, {"a", "/a", false}} {
		if got := worker.Below(filepath.FromSlash(test.folder), filepath.FromSlash(test.above)); got != test.want {
			t.Errorf("%s below %s: %v", test.folder, test.above, got)
		}
	}
}
