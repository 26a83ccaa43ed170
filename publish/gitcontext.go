package publish

import (
	"context"

	"agentsync/collect/gitinfo"
	"agentsync/publish/document"
)

// GitOf answers a pass's questions about directories from one observation.
func GitOf(ctx context.Context, o *gitinfo.Observation) func(dir string) (document.Git, bool) {
	return func(dir string) (document.Git, bool) {
		c := o.Resolve(ctx, dir)
		g := document.Git{Repo: c.RepoURL, Branch: c.Branch, WorktreeRoot: c.Root, HeadSHA: c.HeadSHA, ObservedAt: c.ObservedAt}
		for _, r := range c.Remotes {
			g.Remotes = append(g.Remotes, document.Remote{Name: r.Name, URLs: r.URLs})
		}
		return g, c.Failed
	}
}
