package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"agentsync/publish"
	"agentsync/publish/store"
)

func (v *invocation) logVerb() *urfave.Command {
	return &urfave.Command{
		Name:      "log",
		Category:  groupRead,
		Usage:     "list the generations of the store, newest first",
		UsageText: "agentsync log\nagentsync log --limit 5 --json",
		Flags:     []urfave.Flag{&urfave.IntFlag{Name: "limit", Usage: "at most `N` generations"}},
		Action:    action(0, 0, v.log),
	}
}

// generationObject is one generation in JSON. What its root says is absent when the
// root cannot be read any more.
type generationObject struct {
	Type         string `json:"message_type"`
	Generation   int64  `json:"generation"`
	Time         string `json:"time"`
	Writer       string `json:"writer"`
	Installation string `json:"installation"`
	Previous     string `json:"previous,omitempty"`
	Sessions     *int   `json:"sessions,omitempty"`
	Packs        *int   `json:"packs,omitempty"`
	Size         *int64 `json:"size,omitempty"`
	Unfinished   bool   `json:"unfinished,omitempty"`
}

// logSummary ends the list. Pruned counts the generations before the oldest kept one.
type logSummary struct {
	Type        string `json:"message_type"`
	Generations int    `json:"generations"`
	Pruned      int64  `json:"pruned"`
	More        bool   `json:"more"`
	Store       string `json:"store"`
}

// generationOf counts the packs that a generation needs; its root lies in one that its
// list does not name.
func generationOf(ctx context.Context, target *publish.Target, e publish.LogEntry) generationObject {
	o := generationObject{Type: "generation", Generation: e.Head.Generation, Time: e.Head.Time,
		Writer: e.Head.Writer, Installation: e.Head.Installation, Previous: e.Head.Previous}
	if e.Root == nil {
		return o
	}
	own := e.Head.Root.Pack.Name
	count := 1
	size, err := target.Store.Stat(ctx, store.PackName(own))
	if err != nil {
		size = 0 // verify is who complains
	}
	for _, file := range e.Root.Files {
		if file.Pack.Name != own {
			count++
			size += file.Size
		}
	}
	o.Sessions, o.Packs, o.Size, o.Unfinished = &e.Root.Total, &count, &size, e.Root.Unfinished
	return o
}

func (v *invocation) log(ctx context.Context, c *urfave.Context) error {
	limit := c.Int("limit")
	if limit < 0 {
		return usageError("for example: --limit 5", "a negative --limit")
	}
	_, target, done, err := v.reading(ctx)
	if err != nil {
		return err
	}
	defer done()
	summary := logSummary{Type: "summary", Store: target.Store.Location()}
	var list []generationObject
	err = target.Log(ctx, func(e publish.LogEntry) error {
		if limit > 0 && len(list) == limit {
			summary.More = true
			return errEnough
		}
		list = append(list, generationOf(ctx, target, e))
		summary.Pruned = e.Head.Generation - 1
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return fmt.Errorf("read the chain of generations: %w", err)
	}
	if summary.Generations = len(list); summary.More {
		summary.Pruned = 0
	}
	return v.showLog(list, summary)
}

func (v *invocation) showLog(list []generationObject, summary logSummary) error {
	if v.out.asJSON {
		for _, g := range list {
			if err := v.out.object(g); err != nil {
				return err
			}
		}
		return v.out.object(summary)
	}
	t := newTable(column{title: "GEN", right: true}, column{title: "TIME"}, column{title: "SESSIONS", right: true},
		column{title: "PACKS", right: true}, column{title: "SIZE", right: true}, column{title: "WRITER"},
		column{title: "INSTALLATION", flexible: true})
	for _, g := range list {
		sessions, packs, size := "?", "?", "?"
		if g.Sessions != nil {
			sessions, packs, size = number(*g.Sessions), number(*g.Packs), bytesText(*g.Size)
		}
		if g.Unfinished {
			sessions += " on the way"
		}
		t.row(number(int(g.Generation)), timeText(&g.Time), sessions, packs, size, shortDID(g.Writer), shortDID(g.Installation))
	}
	if err := v.out.table(t); err != nil {
		return err
	}
	switch {
	case len(list) == 0:
		return v.out.note("nothing was published yet: agentsync publish")
	case summary.More:
		return v.out.note("older ones beyond --limit")
	case summary.Pruned > 0:
		return v.out.note("%s before these pruned", counted(int(summary.Pruned), "generation", "generations"))
	}
	return nil
}

// shortDID is enough of a did:key, or of another random id, to tell two apart.
func shortDID(did string) string {
	id := strings.TrimPrefix(did, "did:key:")
	return cut(id[max(0, len(id)-12):], 12)
}
