package gitinfo

import (
	"cmp"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/config"
)

// remote is one configured remote with its addresses as Git uses them.
type remote struct {
	name string
	urls []string // to fetch from, and to push to unless there are others
	push []string
}

// rewrite is one rule url.<base>.insteadOf or pushInsteadOf.
type rewrite struct{ base, prefix string }

// configuredRemotes computes the remotes of configuration layers, earlier ones
// first, with rewriting applied as Git applies it.
func configuredRemotes(layers []*config.Config) ([]remote, error) {
	var remotes []remote
	var rules, pushRules []rewrite
	for _, layer := range layers {
		for _, one := range section(layer, "remote").Subsections {
			if err := addRemote(&remotes, one); err != nil {
				return nil, err
			}
		}
		for _, base := range section(layer, "url").Subsections {
			if err := addRules(&rules, &pushRules, base); err != nil {
				return nil, err
			}
		}
	}
	for i, r := range remotes {
		if len(r.urls) == 0 && (r.name == "upstream" || r.name == "origin") {
			return nil, errAskGit // versions differ on whether its name is its address
		}
		remotes[i].apply(rules, pushRules)
	}
	return remotes, nil
}

// addRules adds the rewriting rules of one base, behind earlier ones of the same base.
func addRules(rules, pushRules *[]rewrite, base *config.Subsection) error {
	for _, option := range base.Options {
		target := rules
		switch strings.ToLower(option.Key) {
		case "insteadof":
		case "pushinsteadof":
			target = pushRules
		default:
			continue
		}
		if option.Value == "" {
			return errAskGit
		}
		at := len(*target)
		for i, rule := range *target {
			if rule.base == base.Name {
				at = i + 1
			}
		}
		*target = slices.Insert(*target, at, rewrite{base.Name, option.Value})
	}
	return nil
}

// addRemote adds the addresses of one configuration section. What Git warns of, or
// reads differently from version to version, is left to it.
func addRemote(remotes *[]remote, from *config.Subsection) error {
	if from.Name == "" || from.Name[0] == '/' || hasControl(from.Name) {
		return errAskGit
	}
	at := slices.IndexFunc(*remotes, func(r remote) bool { return r.name == from.Name })
	if at < 0 {
		at = len(*remotes)
		*remotes = append(*remotes, remote{name: from.Name})
	}
	for _, option := range from.Options {
		target := &(*remotes)[at].urls
		switch strings.ToLower(option.Key) {
		case "url":
		case "pushurl":
			target = &(*remotes)[at].push
		default:
			continue
		}
		if option.Value == "" || hasControl(option.Value) {
			return errAskGit
		}
		*target = append(*target, option.Value)
	}
	return nil
}

// apply rewrites the addresses. A push rule holds only for a remote without push
// addresses of its own, and what it makes is not rewritten again.
func (r *remote) apply(rules, pushRules []rewrite) {
	ownPush := len(r.push) > 0
	for i, address := range r.push {
		r.push[i], _ = rewritten(address, rules)
	}
	for i, address := range r.urls {
		if !ownPush {
			if pushed, matched := rewritten(address, pushRules); matched {
				r.push = append(r.push, pushed)
			}
		}
		r.urls[i], _ = rewritten(address, rules)
	}
	if len(r.push) == 0 {
		r.push = r.urls
	}
}

// rewritten applies the rule with the longest matching prefix, the first of equals.
func rewritten(address string, rules []rewrite) (string, bool) {
	best := -1
	for i, rule := range rules {
		if strings.HasPrefix(address, rule.prefix) && (best < 0 || len(rule.prefix) > len(rules[best].prefix)) {
			best = i
		}
	}
	if best < 0 {
		return address, false
	}
	return rules[best].base + address[len(rules[best].prefix):], true
}

// shown returns the rows that "git remote -v" would print for the remotes.
func shown(remotes []remote) []row {
	var rows []row
	for _, r := range remotes {
		if len(r.urls) > 0 {
			rows = append(rows, row{r.name, r.urls[0]})
		}
		for _, address := range r.push {
			rows = append(rows, row{r.name, address})
		}
	}
	return rows
}

// fetchURL returns the first address of a remote, "" when it has none.
func fetchURL(remotes []remote, name string) (address string, exists bool) {
	for _, r := range remotes {
		if r.name == name && len(r.urls) > 0 {
			return r.urls[0], true
		}
	}
	return "", false
}

// row is one address of one remote, to fetch from or to push to.
type row struct{ name, address string }

// parseRows reads the output of "git remote -v".
func parseRows(text string) []row {
	var rows []row
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "\t")
		if !ok {
			continue
		}
		end := max(strings.LastIndex(rest, " (fetch)"), strings.LastIndex(rest, " (push)"))
		if end >= 0 {
			rows = append(rows, row{name, rest[:end]})
		}
	}
	return rows
}

// publishedRemotes turns rows into what may be published: remotes by name, each
// with its distinct addresses in order. A remote without any is left out.
func publishedRemotes(rows []row) []Remote {
	published := []Remote{}
	for _, r := range rows {
		address, ok := PublishURL(r.address)
		if !ok {
			continue
		}
		at := slices.IndexFunc(published, func(p Remote) bool { return p.Name == r.name })
		if at < 0 {
			at = len(published)
			published = append(published, Remote{Name: r.name})
		}
		published[at].URLs = append(published[at].URLs, address)
	}
	for i := range published {
		slices.Sort(published[i].URLs)
		published[i].URLs = slices.Compact(published[i].URLs)
	}
	slices.SortFunc(published, func(a, b Remote) int { return cmp.Compare(a.Name, b.Name) })
	return published
}

// publishedURL chooses the address that names the repository: that of upstream, or
// of origin when there is no upstream, as far as it may be published; otherwise the
// first published address of either.
func publishedURL(preferred string, remotes []Remote) *string {
	if address, ok := PublishURL(preferred); ok {
		return &address
	}
	for _, name := range []string{"upstream", "origin"} {
		for _, r := range remotes {
			if r.Name == name {
				return &r.URLs[0]
			}
		}
	}
	return nil
}

func hasControl(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}
