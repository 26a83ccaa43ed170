package cli

import (
	"context"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"agentsync/publish"
	"agentsync/publish/document"
)

// mostOffered is how many keys or ids are offered to a shell.
const mostOffered = 200

// flagKinds are the flags whose values stand in the store, and what they name.
var flagKinds = map[string]string{"source": "SOURCE", "session": "KEY"}

// wantedKind says what the unfinished word names that only the store can tell: a KEY, a
// SOURCE or an ID; "" for nothing of the kind.
func wantedKind(app *urfave.App, typed []string) (kind, current string) {
	if len(typed) == 0 {
		return "", ""
	}
	before, current := typed[:len(typed)-1], strings.Trim(typed[len(typed)-1], `"`)
	known := allFlags(app)
	if len(before) > 0 {
		lastWord := before[len(before)-1]
		if name, isFlag := flagName(lastWord); isFlag && takesValue(known[name]) && !strings.Contains(lastWord, "=") {
			return flagKinds[name], current
		}
	}
	_, plain, _ := splitFlags(known, before)
	path, rest, err := findVerb(app, plain, true)
	if err != nil || len(path) == 0 || strings.HasPrefix(current, "-") || slices.Contains(before, "--") {
		return "", current
	}
	usage := strings.Fields(path[len(path)-1].ArgsUsage)
	if len(usage) == 0 || len(rest) > 0 && !strings.HasSuffix(usage[0], "…]") {
		return "", current
	}
	kind = strings.Trim(usage[0], "[]…")
	if path[0].Name == "cat" || !slices.Contains([]string{"KEY", "SOURCE", "ID", "BINDING", "PLAN"}, kind) {
		return "", current
	}
	return kind, current
}

// storedCandidates are the published keys or sources, or the commands with a receipt, that
// begin as typed. A store that cannot be read offers nothing.
func (v *invocation) storedCandidates(ctx context.Context, typed []string) []candidate {
	kind, current := wantedKind(v.app, typed)
	if kind == "" {
		return nil
	}
	v.globalsOf(typed)
	if kind == "BINDING" || kind == "PLAN" {
		return matching(current, v.bindingCandidates(ctx, kind))
	}
	s, target, done, err := v.reading(ctx)
	if err != nil {
		return nil
	}
	defer done()
	switch kind {
	case "ID":
		return matching(current, receiptCandidates(ctx, target))
	case "SOURCE":
		return matching(current, sourceCandidates(ctx, s, target))
	}
	return keyCandidates(ctx, target, current)
}

func receiptCandidates(ctx context.Context, target *publish.Target) (offered []candidate) {
	rows, err := target.Receipts(ctx)
	if err != nil {
		return nil
	}
	for _, row := range rows {
		offered = append(offered, candidate{row.CommandID.ID, string(row.Status)})
	}
	return offered
}

func sourceCandidates(ctx context.Context, s *settings, target *publish.Target) (offered []candidate) {
	view, err := target.View(ctx)
	if err != nil {
		return nil
	}
	for _, source := range view.Root().Sources {
		offered = append(offered, candidate{source.ID, source.Driver})
	}
	for _, id := range unpublished(s, publishedSources(offered)) {
		offered = append(offered, candidate{word: id})
	}
	return offered
}

// keyCandidates are the newest sessions whose keys begin as typed. What was found before
// a page that cannot be read is offered.
func keyCandidates(ctx context.Context, target *publish.Target, current string) (offered []candidate) {
	view, err := target.View(ctx)
	if err != nil {
		return nil
	}
	_ = view.Newest(func(row *document.Row) error {
		child := row.Parent != "" && !strings.Contains(current, childMarkInKey)
		if row.Status != document.StatusDeleted && !row.Hidden && !child && strings.HasPrefix(row.Key, current) {
			offered = append(offered, candidate{row.Key, text(row.Title)})
		}
		if len(offered) == mostOffered {
			return errEnough
		}
		return nil
	})
	return offered
}

func publishedSources(offered []candidate) []publishedSource {
	known := make([]publishedSource, len(offered))
	for i, c := range offered {
		known[i].Source = c.word
	}
	return known
}

// globalsOf takes over the flags that say which store is meant.
func (v *invocation) globalsOf(typed []string) {
	flags, _, _ := splitFlags(allFlags(v.app), typed)
	for _, flag := range flags {
		_, value, attached := strings.Cut(flag.text[0], "=")
		if !attached && len(flag.text) > 1 {
			value = flag.text[1]
		}
		switch flag.name {
		case "config":
			v.globals.config = value
		case "state":
			v.globals.state = value
		case "store":
			v.globals.store = value
		}
	}
}
