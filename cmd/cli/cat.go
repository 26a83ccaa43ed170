package cli

import (
	"context"
	"errors"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"agentsync/publish"
	"agentsync/publish/document"
)

func (v *invocation) catVerb() *urfave.Command {
	return &urfave.Command{
		Name:      "cat",
		Category:  groupRead,
		Usage:     "print one cell, or a session's own bytes",
		ArgsUsage: "ID",
		Description: "ID is a cell (of:fid1:…), a page (sha256:…), or a session's key: then its manifest, or with --part one of its " +
			"chunks, or with --raw its own bytes. Documents are printed as they are stored. Every element of an array is a cell " +
			"too, which is stored within its document: it is printed whole, or with --linked as a space holds it, the elements " +
			"of its own arrays as links. Those of the index are found by their id; those of a session need --in KEY.",
		UsageText: "agentsync cat claude/3f2a\nagentsync cat 3f2a --part 0\nagentsync cat --raw 3f2a > session.jsonl",
		Flags: []urfave.Flag{
			&urfave.IntFlag{Name: "part", Value: -1, DefaultText: "none", Usage: "the chunk `N` of the session, from 0"},
			&urfave.BoolFlag{Name: "raw", Usage: "the session's own bytes, as its agent wrote them"},
			&urfave.StringFlag{Name: "in", Usage: "look for the cell in all arrays of the session `KEY` too"},
			&urfave.BoolFlag{Name: "linked", Usage: "print the elements of an array element's own arrays as links to their cells"},
			generationFlag(),
		},
		Action: action(1, 1, v.cat),
	}
}

// cellObject is one cell in JSON. Text is its stored form, fvj1.
type cellObject struct {
	Type string `json:"message_type"`
	ID   string `json:"id"`
	Pack string `json:"pack"`
	Text string `json:"text"`
}

func isCellID(typed string) bool {
	return strings.HasPrefix(typed, "of:") || strings.HasPrefix(typed, "sha256:")
}

func (v *invocation) cat(ctx context.Context, c *urfave.Context) error {
	typed, part, raw := c.Args().First(), c.Int("part"), c.Bool("raw")
	switch {
	case raw && (isCellID(typed) || v.out.asJSON || c.IsSet("part")):
		return usageError("agentsync cat --raw KEY > FILE", "--raw prints a whole session's own bytes and nothing else")
	case raw && v.env.StdoutTerminal:
		return usageError("agentsync cat --raw "+typed+" > FILE", "a session's own bytes may hold what a terminal obeys")
	case c.IsSet("part") && (part < 0 || isCellID(typed)):
		return usageError("agentsync cat KEY --part 0", "--part counts a session's chunks from 0")
	}
	_, target, done, err := v.reading(ctx)
	if err != nil {
		return err
	}
	defer done()
	view, err := v.view(ctx, target, c)
	if err != nil {
		return err
	}
	if raw {
		return v.catRaw(view, typed)
	}
	cell, err := v.cell(ctx, view, c)
	if err != nil {
		return err
	}
	return v.showCell(cell)
}

// cell finds what was typed.
func (v *invocation) cell(ctx context.Context, view *publish.View, c *urfave.Context) (publish.Cell, error) {
	typed := c.Args().First()
	if isCellID(typed) {
		var rows []*document.Row
		if in := c.String("in"); in != "" {
			row, err := oneRow(view, in)
			if err != nil {
				return publish.Cell{}, err
			}
			rows = append(rows, row)
		}
		cell, err := view.Cat(ctx, typed, publish.CatOptions{Rows: rows, Linked: c.Bool("linked")})
		if errors.Is(err, publish.ErrNoCell) {
			return cell, &failure{exit: exitFailed, code: "no-such-cell", err: err,
				hint: "sessions: agentsync ls --all; a cell in a session's arrays: agentsync cat --in KEY ID"}
		}
		return cell, err
	}
	row, err := oneRow(view, typed)
	if err != nil {
		return publish.Cell{}, err
	}
	part := c.Int("part")
	if part < 0 {
		return view.Cat(ctx, view.ManifestID(row), publish.CatOptions{})
	}
	session, err := view.Session(row)
	if err != nil {
		return publish.Cell{}, err
	}
	if part >= session.Parts() {
		return publish.Cell{}, usageError("agentsync show "+row.Key, "%s has %s, there is no part %d", row.Key, counted(session.Parts(), "part", "parts"), part)
	}
	return view.Cat(ctx, view.ChunkID(row, part, session.Manifest.Chunks[part].ContentHash), publish.CatOptions{})
}

func (v *invocation) showCell(cell publish.Cell) error {
	if v.out.asJSON {
		return v.out.object(cellObject{"cell", cell.ID, cell.Pack, string(cell.Text)})
	}
	if v.env.StdoutTerminal {
		return v.out.line("%s", cell.Text)
	}
	if _, err := v.out.results.Write(cell.Text); err != nil {
		return err
	}
	_, err := v.out.results.Write([]byte("\n"))
	return err
}

// catRaw prints a session's own bytes.
func (v *invocation) catRaw(view *publish.View, typed string) error {
	row, err := oneRow(view, typed)
	if err != nil {
		return err
	}
	session, err := view.Session(row)
	if err != nil {
		return err
	}
	return session.Events(func(_ int, e *document.ChunkEvent) error {
		if !e.Plain {
			_, err := v.out.results.Write(e.Raw)
			return err
		}
		if _, err := v.out.results.Write(e.Text); err != nil {
			return err
		}
		_, err := v.out.results.Write([]byte("\n"))
		return err
	})
}
