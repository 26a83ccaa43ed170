package cli

import (
	"context"
	"errors"
	"slices"

	urfave "github.com/urfave/cli/v2"

	"agentsync/collect"
	"agentsync/publish"
	"agentsync/publish/document"
)

// readingVerbs are the verbs that look at what is published, bring it back, and look
// after it.
func (v *invocation) readingVerbs() []*urfave.Command {
	return []*urfave.Command{
		v.lsVerb(),
		v.showVerb(),
		v.logVerb(),
		v.catVerb(),
		v.restoreVerb(),
		v.verifyVerb(),
		v.pruneVerb(),
		v.trustVerb(),
		v.statusVerb(),
	}
}

func generationFlag() urfave.Flag {
	return &urfave.Uint64Flag{Name: "generation", DefaultText: "the newest", Usage: "as of the generation `N`, which agentsync log lists"}
}

// view opens the generation that was asked for, the newest by default.
func (v *invocation) view(ctx context.Context, target *publish.Target, c *urfave.Context) (*publish.View, error) {
	view, err := target.ViewAt(ctx, c.Uint64("generation"))
	if errors.Is(err, publish.ErrNoGeneration) {
		return nil, &failure{exit: exitFailed, code: "no-such-generation", hint: "see those that are kept: agentsync log", err: err}
	}
	return view, err
}

// sourceIDs reads --source for verbs that look into the store: a source that is not on
// this machine may be published all the same.
func sourceIDs(c *urfave.Context) ([]string, error) {
	var ids []string
	for _, typed := range c.StringSlice("source") {
		id, err := collect.SourceID(typed)
		if err != nil {
			return nil, usageError("--source ID", "--source: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// oneRow finds the session that was typed: its key, its native id, or the beginning of
// either.
func oneRow(view *publish.View, typed string) (*document.Row, error) {
	if typed == "" {
		return nil, usageError("agentsync ls", "an empty session key")
	}
	rows, err := view.FindKeys(typed)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 { // the native id as it stands in a key, escaped
		err = view.Rows(func(row *document.Row) error {
			if answers(typed, row.Key) {
				rows = append(rows, row)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	keys := make([]string, len(rows))
	for i, row := range rows {
		keys[i] = row.Key
	}
	key, err := onlyKey(typed, keys)
	if err != nil {
		return nil, err
	}
	return rows[slices.Index(keys, key)], nil
}
