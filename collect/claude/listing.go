package claude

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"agentsync/collect/lines"

	"agentsync/collect"
)

// ListOptions are those of the client's listing.
type ListOptions struct {
	Dir           string   // only this directory's sessions, "" for all
	Worktrees     []string // of Dir's repository as git lists them, nil to leave them out; one alone adds nothing
	Limit, Offset int      // Limit 0 is no limit
	// ExcludeProgrammatic leaves out what other programs started through the SDK.
	ExcludeProgrammatic bool
}

// listed is a session as the client's listing weighs it.
type listed struct {
	session
	info         Info
	programmatic bool
}

// ListAsClient answers what the client's own listing answers over the same files (spec,
// agents 3.1): its sessions, its fields, its order. Files that cannot be read are left
// out, as the client leaves them out.
func (d *Driver) ListAsClient(o ListOptions) []Info {
	all := d.list()
	newest := map[string]listed{}
	for _, place := range d.places(all, o) {
		for _, s := range all.sessions {
			if s.kind != mainSession || !place.holds(s) {
				continue
			}
			l, ok := d.weigh(s, place.dir)
			if !ok || o.ExcludeProgrammatic && l.programmatic || place.dir != "" && d.elsewhere(l, place.dir) {
				continue
			}
			if old, ok := newest[s.family]; !ok || l.info.LastModified > old.info.LastModified {
				newest[s.family] = l
			}
		}
	}
	infos := make([]Info, 0, len(newest))
	for _, l := range newest {
		infos = append(infos, l.info)
	}
	slices.SortFunc(infos, func(a, b Info) int {
		return cmp.Or(cmp.Compare(b.LastModified, a.LastModified), cmp.Compare(b.SessionID, a.SessionID))
	})
	infos = infos[min(o.Offset, len(infos)):]
	if o.Limit > 0 {
		infos = infos[:min(o.Limit, len(infos))]
	}
	return infos
}

// InfoAsClient answers what the client answers about one session: nothing for one that
// it does not know. Of copies in several project folders it is the first folder's.
func (d *Driver) InfoAsClient(id string) (Info, bool) {
	for _, s := range d.list().sessions {
		if s.kind != mainSession || s.family != id {
			continue
		}
		r, err := lines.Open(d.file(s), lines.Options{})
		if err != nil {
			return Info{}, false
		}
		defer r.Close()
		e, err := gather(r, r.Stamp().Size, d.sidecarFolder(s))
		if err != nil {
			return Info{}, false
		}
		var p parser
		return p.read(e).info(s.family)
	}
	return Info{}, false
}

// place is a project folder that a listing looks into, and the directory it stands for.
type place struct {
	key string // "" for every folder
	dir string
}

func (p place) holds(s session) bool { return p.key == "" || p.key == s.key }

// places are the folders of a directory and of its repository's worktrees.
func (d *Driver) places(all *catalog, o ListOptions) []place {
	if o.Dir == "" {
		return []place{{}}
	}
	dir, err := d.resolve(o.Dir)
	if err != nil {
		return nil
	}
	places := d.placesOf(all, dir)
	if len(o.Worktrees) < 2 {
		return places
	}
	for _, tree := range o.Worktrees {
		for _, p := range d.placesOf(all, tree) {
			if !slices.ContainsFunc(places, func(q place) bool { return q.key == p.key }) {
				places = append(places, p)
			}
		}
	}
	return places
}

// placesOf finds a directory's folder and, where its name is cut, those that other
// versions of the client named with another hash.
func (d *Driver) placesOf(all *catalog, dir string) []place {
	key := collect.ProjectKey(dir)
	places := []place{{key, dir}}
	if len(key) <= maxKey {
		return places
	}
	for _, s := range all.sessions {
		known := slices.ContainsFunc(places, func(p place) bool { return p.key == s.key })
		if s.kind != mainSession || known || !strings.HasPrefix(s.key, key[:maxKey]) {
			continue
		}
		if l, ok := d.weigh(s, ""); ok && l.info.Cwd != nil && *l.info.Cwd == dir {
			places = append(places, place{s.key, dir})
		}
	}
	return places
}

// weigh reads what the client reports of a session, if it lists it.
func (d *Driver) weigh(s session, dir string) (listed, bool) {
	r, err := lines.Open(d.file(s), lines.Options{})
	if err != nil {
		return listed{}, false
	}
	defer r.Close()
	e, err := gather(r, r.Stamp().Size, d.sidecarFolder(s))
	if err != nil {
		return listed{}, false
	}
	var p parser
	f := p.read(e)
	if d.hidden(&p, s, e, f, conversation{}) {
		return listed{}, false
	}
	l := listed{session: s, programmatic: p.programmatic(e)}
	l.info, _ = f.info(s.family)
	if l.info.Cwd == nil && dir != "" {
		l.info.Cwd = &dir
	}
	return l, true
}

// elsewhere reports a session of another directory whose folder has the same name.
func (d *Driver) elsewhere(l listed, dir string) bool {
	cwd := *l.info.Cwd
	if cwd == dir || collect.ProjectKey(cwd) != collect.ProjectKey(dir) {
		return false
	}
	there, err := d.resolve(cwd)
	if err != nil {
		return false
	}
	here, err := d.resolve(dir)
	return err == nil && filepath.Clean(there) != filepath.Clean(here)
}

// programmatic reports a session that a program drove.
func (p *parser) programmatic(e evidence) bool {
	entrypoint, ok := p.firstText(e.head, "entrypoint")
	if !ok {
		entrypoint, _ = p.lastText(e.tail, "entrypoint")
	}
	if slices.Contains([]string{"sdk-cli", "sdk-ts", "sdk-py"}, entrypoint) {
		return true
	}
	kind, _ := p.firstText(e.head, "sessionKind")
	return kind == "daemon" || kind == "daemon-worker"
}
