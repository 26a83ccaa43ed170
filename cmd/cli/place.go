package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"agentsync/collect"
	"agentsync/ledger"
	"agentsync/ledger/worker"
	"agentsync/publish"
	"agentsync/publish/document"
)

// placesOf are a source's own folders: the one that its configuration names, and those of its
// published sessions, of each the checkout that it lies in.
func placesOf(ctx context.Context, target *publish.Target, sources []collect.SourceConfig, source string) (folders []string, err error) {
	for _, one := range sources {
		if id, err := collect.SourceID(one.ID); err == nil && id == source && one.Cwd != "" {
			folders = append(folders, one.Cwd)
		}
	}
	view, err := target.View(ctx)
	if errors.Is(err, publish.ErrEmpty) {
		return folders, nil
	}
	if err != nil {
		return nil, err
	}
	err = view.Rows(func(row *document.Row) error {
		folder := firstOf(text(row.Git.WorktreeRoot), text(row.Cwd))
		if row.SourceID == source && filepath.IsAbs(folder) && !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
		return nil
	})
	return folders, err
}

// realFolder is a folder's path without links and dots. It must be absolute and there.
func realFolder(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", errors.New("no absolute path")
	}
	return filepath.EvalSymlinks(path)
}

// checkPlace stops a start in the owner's name that would be refused where it is to run: in
// a folder outside of its source's, and not forced. Who runs it judges again, since the
// folders may be those of another machine.
func checkPlace(ctx context.Context, target *publish.Target, s *settings, command ledger.Command) error {
	in, err := command.StartInput()
	if err != nil || in.Cwd == "" {
		return err
	}
	folders, err := placesOf(ctx, target, s.sources, command.SourceID)
	if err != nil || len(folders) == 0 {
		return err
	}
	folder, err := realFolder(in.Cwd)
	here := err == nil
	for _, one := range folders {
		if !here && worker.Below(in.Cwd, one) {
			return nil // on another machine, which resolves it
		}
		if real, err := realFolder(one); here && err == nil && worker.Below(folder, real) {
			return nil
		}
	}
	return &failure{exit: exitStopped, code: "outside-folders", source: command.SourceID, path: in.Cwd,
		message: in.Cwd + " is outside of the folders of " + command.SourceID + ", where its sessions are",
		hint:    "to start it there all the same: --force"}
}

// bindHint is what the owner types to let a key send such a command; nil is any.
func bindHint(name, did string, command *ledger.Command) string {
	source, kind, folder := "SOURCE", "COMMAND", ""
	if command != nil {
		source, kind = command.SourceID, string(command.Type)
		if in, err := command.StartInput(); err == nil && in.Cwd != "" {
			folder = " --folder " + shellPath(in.Cwd)
		}
	}
	return fmt.Sprintf("on the owner's machine: agentsync command bind-producer %s %s --source %s --command %s%s", firstOf(name, "NAME"), did,
		source, kind, folder)
}

// rightsTyped reads what a producer may ask for.
func rightsTyped(env Env, sources, commands, folders []string) (publish.Rights, error) {
	var r publish.Rights
	const help = "agentsync command bind-producer --help"
	if len(sources) == 0 || len(commands) == 0 {
		return r, usageError("for example: --source claude --command prompt,cancel", "a binding says what its producer may: --source and --command")
	}
	for _, typed := range sources {
		id, err := collect.SourceID(typed)
		if err != nil {
			return r, usageError(help, "--source: %w", err)
		}
		r.Sources = append(r.Sources, id)
	}
	for _, typed := range commands {
		if !slices.ContainsFunc(sendables, func(one sendable) bool { return string(one.kind) == typed }) {
			return r, usageError("one of: "+strings.Join(kinds(), ", "), "--command: there is no command %.80q", typed)
		}
		r.Commands = append(r.Commands, typed)
	}
	for _, typed := range folders {
		folder := env.abs(typed)
		if !filepath.IsAbs(folder) {
			return r, usageError(help, "--folder: %.200q is no folder", typed)
		}
		r.Folders = append(r.Folders, filepath.Clean(folder))
	}
	return r, nil
}

func kinds() []string {
	var all []string
	for _, one := range sendables {
		all = append(all, string(one.kind))
	}
	return all
}
