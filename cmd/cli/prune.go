package cli

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	urfave "github.com/urfave/cli/v2"

	"agentsync/ledger/durable"
	"agentsync/publish"
)

const (
	keepDefault  = 10                 // generations that a prune keeps
	graceDefault = 7 * 24 * time.Hour // a publish never takes that long
)

func (v *invocation) pruneVerb() *urfave.Command {
	return &urfave.Command{
		Name:     "prune",
		Category: groupKeep,
		Usage:    "show what no kept generation needs, and with --apply remove it",
		Description: "Every session of the newest generation stays, deleted ones included: only older states of the index and of " +
			"sessions go. What a session was before its file shrank or changed is kept until --drop-copy names it. Nothing younger than the grace period is removed, and nothing at all when something kept cannot be read.",
		UsageText: "agentsync prune\nagentsync prune --keep 30 --apply\nagentsync prune --drop-copy KEY@1 --apply",
		Flags: []urfave.Flag{
			&urfave.IntFlag{Name: "keep", Value: keepDefault, Usage: "keep the newest `N` generations"},
			&urfave.StringFlag{Name: "grace", Value: "7d", Usage: "remove nothing younger than `DURATION`, as 7d or 36h"},
			&urfave.StringSliceFlag{Name: "drop-copy", Usage: "give up the kept copy `KEY@N` of a session that shrank, and nothing else (may be repeated)"},
			&urfave.BoolFlag{Name: "apply", Usage: "remove it; without, only show it"},
		},
		Action: action(0, 0, v.prune),
	}
}

// prunedObject is one name that goes, in JSON.
type prunedObject struct {
	Type string `json:"message_type"`
	Name string `json:"name"`
	Size int64  `json:"size"`
	Why  string `json:"why"`
}

// pruneSummary ends a prune.
type pruneSummary struct {
	Type         string `json:"message_type"`
	Applied      bool   `json:"applied"`
	Removed      int    `json:"removed"`
	RemovedSize  int64  `json:"removed_size"`
	Generations  int    `json:"generations"`
	Packs        int    `json:"packs"`
	PackSize     int64  `json:"pack_size"`
	Waiting      int    `json:"waiting"`
	WaitingSize  int64  `json:"waiting_size"`
	WaitingUntil string `json:"waiting_until,omitempty"`
	Store        string `json:"store"`
}

func (v *invocation) prune(ctx context.Context, c *urfave.Context) error {
	grace, err := longDuration(c.String("grace"))
	if err != nil || grace < 0 {
		return usageError("for example: --grace 7d", "--grace %q is no duration", c.String("grace"))
	}
	if c.Int("keep") < 1 {
		return usageError("for example: --keep 10", "--keep %d: the newest generation always stays", c.Int("keep"))
	}
	o := publish.PruneOptions{Keep: c.Int("keep"), Grace: grace, Apply: c.Bool("apply"), Now: v.env.Now()}
	s, err := v.readerSettings()
	if err != nil {
		return err
	}
	prune := v.pruneStore
	if names := c.StringSlice("drop-copy"); len(names) > 0 {
		prune = func(ctx context.Context, s *settings, o publish.PruneOptions) error {
			return v.dropCopies(ctx, s, o, names)
		}
	}
	if !o.Apply {
		return prune(ctx, s, o)
	}
	if s.State == "" {
		if s, err = v.settings(); err != nil {
			return err
		}
	}
	if _, done, err := v.openPruner(ctx, s, o.Apply); err != nil {
		return err // before a state folder is made for nothing
	} else {
		done()
	}
	return v.withLock(ctx, s.State, publishLock, "prune", func(ctx context.Context) error { return prune(ctx, s, o) })
}

// openPruner opens the store to look, or, to remove, in the owner's name: only the owner
// removes anything.
func (v *invocation) openPruner(ctx context.Context, s *settings, apply bool) (*publish.Target, func(), error) {
	seen, err := seenBefore(s)
	if err != nil {
		return nil, nil, err
	}
	options := publish.Options{FS: durable.OS(), Workers: workers(), Seen: seen}
	if apply {
		options.Rand, options.State = rand.Reader, s.localFolder()
		if options.Signer, options.Installation, err = v.existingIdentity(s.State); err != nil {
			return nil, nil, err
		}
	}
	return v.openAs(ctx, s, options)
}

func (v *invocation) pruneStore(ctx context.Context, s *settings, o publish.PruneOptions) error {
	target, done, err := v.openPruner(ctx, s, o.Apply)
	if err != nil {
		return err
	}
	defer done()
	report, err := pruneAll(ctx, target, o)
	if err != nil {
		return err
	}
	summary := pruneSummary{Type: "summary", Applied: o.Apply, Removed: len(report.Removed), Generations: report.KeptHeads,
		Packs: report.KeptPacks, PackSize: report.KeptBytes, Waiting: report.Waiting, WaitingSize: report.WaitingBytes, Store: target.Store.Location()}
	if report.Waiting > 0 {
		summary.WaitingUntil = report.Until.UTC().Format(storedTime)
	}
	t := newTable(column{title: "NAME", flexible: true}, column{title: "SIZE", right: true}, column{title: "WHY"})
	for _, p := range report.Removed {
		summary.RemovedSize += p.Bytes
		t.row(p.Name, bytesText(p.Bytes), p.Why)
		if v.out.asJSON {
			if err := v.out.object(prunedObject{"pruned", p.Name, p.Bytes, p.Why}); err != nil {
				return err
			}
		}
	}
	if v.out.asJSON {
		return v.out.object(summary)
	}
	if err := v.out.table(t); err != nil {
		return err
	}
	how := "to do it: agentsync prune --apply"
	if own, err := ownDID(s.State); err != nil || own != target.OwnerDID() {
		how = "only the owner can: " + target.OwnerDID()
	}
	return v.endPrune(summary, how)
}

// pruneAll prunes sessions, commands and datasets. What the datasets need is read before
// anything is removed.
func pruneAll(ctx context.Context, target *publish.Target, o publish.PruneOptions) (publish.PruneReport, error) {
	look := o
	look.Apply = false
	removed, err := pruneDatasets(ctx, target, look)
	if err != nil {
		return publish.PruneReport{}, err
	}
	report, err := target.Prune(ctx, o)
	if err != nil {
		return report, err
	}
	if o.Apply && len(removed) > 0 {
		removed, err = pruneDatasets(ctx, target, o)
	}
	report.Removed = append(report.Removed, removed...)
	return report, err
}

func (v *invocation) endPrune(s pruneSummary, how string) error {
	kept := counted(s.Generations, "generation", "generations") + " and " + counted(s.Packs, "pack", "packs") + " (" + bytesText(s.PackSize) + ") stay"
	if s.Waiting > 0 {
		kept += fmt.Sprintf(", of which nobody needs %s (%s): removable from %s on", counted(s.Waiting, "pack", "packs"),
			bytesText(s.WaitingSize), timeText(&s.WaitingUntil))
	}
	switch {
	case s.Removed == 0:
		return v.out.note("nothing to remove; %s", kept)
	case s.Applied:
		return v.out.note("removed %s, %s; %s", counted(s.Removed, "file", "files"), bytesText(s.RemovedSize), kept)
	}
	return v.out.note("would remove %s, %s; %s; %s", counted(s.Removed, "file", "files"), bytesText(s.RemovedSize), kept, how)
}
