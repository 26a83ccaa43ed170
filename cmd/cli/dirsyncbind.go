package cli

import (
	"context"
	"path/filepath"

	urfave "github.com/urfave/cli/v2"

	"agentsync/dirsync"
	"agentsync/dirsync/life"
)

func (v *invocation) bindVerb() *urfave.Command {
	return &urfave.Command{
		Name:     "bind",
		Category: groupSync,
		Usage:    "tie a directory to a dataset",
		Description: "The directory must exist; nothing in it is changed. The store, this installation's identity and the dataset are made " +
			"where there are none. Binding again with the same facts changes nothing.\n\n" +
			"An ignore rule is a pattern as of a shell: with a slash at its beginning or inside it matches from the directory on, else a name at any depth. " +
			"What is ignored is left alone on both sides.",
		ArgsUsage: "DIR DATASET",
		UsageText: "agentsync dirsync bind ~/notes notes --id notes --direction both\n" +
			"agentsync dirsync bind . skills --id skills --direction to-project --ignore '*.log' --ignore /build",
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "id", Usage: "call the binding `NAME`; it is chosen once"},
			&urfave.StringFlag{Name: "direction", Usage: "carry changes to `SIDE`: both, to-project or to-dataset"},
			&urfave.StringFlag{Name: "links", Value: string(dirsync.SkipLinks), Usage: "what becomes of symbolic links, `POLICY` being skip or portable: " +
				"copied when they stay inside"},
			&urfave.StringSliceFlag{Name: "ignore", Usage: "leave alone what matches `RULE` (may be repeated)"},
		},
		Action: action(2, 2, v.bind),
	}
}

func (v *invocation) bind(ctx context.Context, c *urfave.Context) error {
	for _, name := range []string{"id", "direction"} {
		if c.String(name) == "" {
			return usageError("agentsync dirsync bind DIR DATASET --id NAME --direction both", "--%s is needed", name)
		}
	}
	want := dirsync.Binding{ID: c.String("id"), Root: filepath.Clean(v.env.abs(c.Args().First())), Dataset: c.Args().Get(1),
		Direction: dirsync.Direction(c.String("direction")), Links: dirsync.LinkPolicy(c.String("links")), Ignore: c.StringSlice("ignore")}
	if err := want.Check(); err != nil {
		return usageError("agentsync dirsync bind --help", "%w", err)
	}
	s, err := v.settings()
	if err != nil {
		return err
	}
	about := concern{binding: want.ID}
	err = v.withLock(ctx, s.State, bindLock, "dirsync bind", func(ctx context.Context) error { return v.bindLocked(ctx, s, want) })
	return about.of(err)
}

func (v *invocation) bindLocked(ctx context.Context, s *settings, want dirsync.Binding) error {
	o := v.bindings(s)
	done, err := v.openDatasets(ctx, s, o, true)
	if err != nil {
		return err
	}
	defer done()
	b, created, err := o.Bind(want)
	if err != nil {
		return err
	}
	for _, note := range b.Notes() {
		v.out.warn("%s", note)
	}
	if v.out.asJSON {
		return v.out.object(bindSummary{"summary", created, b.ID, b.Root, b.Dataset, string(b.Direction), b.Revision, b.Store})
	}
	if !created {
		return v.out.note("%s is bound already; nothing was changed", b.ID)
	}
	if err := v.out.note("%s: %s is bound to the dataset %s of %s, %s", b.ID, pathText(homePath(v.env.Home, b.Root)), b.Dataset, b.Store, b.Direction); err != nil {
		return err
	}
	return v.out.note("to see what would be done: agentsync dirsync preview %s", b.ID)
}

// bindSummary ends what changes a binding.
type bindSummary struct {
	Type      string `json:"message_type"`
	Changed   bool   `json:"changed"`
	Binding   string `json:"binding"`
	Path      string `json:"path"` // of the directory
	Dataset   string `json:"dataset"`
	Direction string `json:"direction"`
	Revision  int64  `json:"revision"`
	Store     string `json:"store"`
}

func (v *invocation) directionVerb() *urfave.Command {
	return &urfave.Command{
		Name:     "direction",
		Category: groupSync,
		Usage:    "change which way a binding carries changes",
		Description: "The binding's revision must be the one that is given, so that nobody's change is lost; it is raised by one. A plan that is not " +
			"applying is dropped, and the next preview asks for --rebase.",
		ArgsUsage: "BINDING",
		UsageText: "agentsync dirsync direction --set both --revision 1 notes",
		Flags: []urfave.Flag{
			&urfave.StringFlag{Name: "set", Usage: "carry changes to `SIDE`: both, to-project or to-dataset"},
			&urfave.Int64Flag{Name: "revision", Usage: "the binding's revision `N`, as agentsync dirsync status shows it"},
		},
		Action: action(1, 1, func(ctx context.Context, c *urfave.Context) error {
			to, id := dirsync.Direction(c.String("set")), c.Args().First()
			if !to.Valid() || !c.IsSet("revision") {
				return usageError("agentsync dirsync direction --set both --revision 1 "+id, "--set both, to-project or to-dataset and --revision are needed")
			}
			s, err := v.settings()
			if err != nil {
				return err
			}
			return v.withBinding(ctx, s, id, task{verb: "direction", work: func(_ context.Context, b *life.Bound) error {
				if err := b.SetDirection(to, c.Int64("revision")); err != nil {
					return err
				}
				if v.out.asJSON {
					return v.out.object(bindSummary{"summary", true, b.ID, b.Root, b.Dataset, string(b.Direction), b.Revision, b.Store})
				}
				return v.out.note("%s: %s, revision %d", b.ID, b.Direction, b.Revision)
			}})
		}),
	}
}

// unbindSummary ends an unbinding.
type unbindSummary struct {
	Type    string `json:"message_type"`
	Binding string `json:"binding"`
	Kept    string `json:"kept,omitempty"` // folder of replaced contents
}

func (v *invocation) unbindVerb() *urfave.Command {
	return &urfave.Command{
		Name:     "unbind",
		Category: groupSync,
		Usage:    "forget a binding; directory and dataset stay as they are",
		Description: "What the two sides last agreed on is forgotten, so that a new binding of the same directory takes equal files for agreed and asks " +
			"about different ones. Refused while a plan is applying, but not where files of the binding are damaged.",
		ArgsUsage: "BINDING",
		UsageText: "agentsync dirsync unbind notes",
		Action: action(1, 1, func(ctx context.Context, c *urfave.Context) error {
			s, err := v.settings()
			if err != nil {
				return err
			}
			return v.withBinding(ctx, s, c.Args().First(), task{verb: "unbind", open: (*life.Options).OpenBroken, work: func(_ context.Context, b *life.Bound) error {
				kept, err := b.Unbind()
				if err != nil {
					return err
				}
				if v.out.asJSON {
					return v.out.object(unbindSummary{"summary", b.ID, kept})
				}
				if kept != "" {
					v.inform("replaced contents are kept in %s", kept)
				}
				if b.Root == "" {
					return v.out.note("%s, which was damaged, is forgotten; directory and dataset stay as they are", b.ID)
				}
				return v.out.note("%s is forgotten; %s and the dataset %s stay as they are", b.ID, pathText(homePath(v.env.Home, b.Root)), b.Dataset)
			}})
		}),
	}
}
