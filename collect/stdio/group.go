package stdio

import (
	"os/exec"
	"slices"
	"sync"
	"time"
)

const (
	leftoverQuiet = 200 * time.Millisecond // for who ends by itself after the leader
	leftoverGrace = 500 * time.Millisecond // for who was asked to end
	clearedWait   = 2 * time.Second        // for the system to clear away what was killed
	pollEvery     = 10 * time.Millisecond
)

// group is a child and all that it started. Members of its process group stay members
// when their parents end; relatives are descendants with a group of their own, as far as
// they were descendants when somebody looked.
type group struct {
	mu        sync.Mutex
	members   members
	relatives []relative
	ended     bool // its number may belong to somebody else
}

// relative is a process outside the group. Its start tells it from a later one with the
// same number.
type relative struct {
	pid     int
	started uint64
}

// startGroup starts the command as the leader of a new group. The calling goroutine keeps
// its thread until the child has been waited for.
func startGroup(cmd *exec.Cmd) (*group, error) {
	m, err := startMembers(cmd)
	if err != nil {
		return nil, err
	}
	return &group{members: m}, nil
}

// ask asks every member to end, where the system knows how to ask.
func (g *group) ask() { g.signal(members.ask) }

// kill ends every member.
func (g *group) kill() { g.signal(members.kill) }

// signal looks for relatives first: with the leader, the way to them is lost.
func (g *group) signal(send func(members)) {
	g.look()
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended {
		send(g.members)
	}
}

// look notes who descends from the leader now, so that finish ends them.
func (g *group) look() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended {
		return
	}
	for _, r := range g.members.relatives() {
		if !slices.Contains(g.relatives, r) {
			g.relatives = append(g.relatives, r)
		}
	}
}

// finish ends what is left of the group after its leader: an agent whose leader has ended
// is over. Who is left gets a moment to end by itself, then is asked, then killed.
//
// RACE: between the leader's end and the look at the group, its number can belong to a
// new group if the system used up all numbers within that moment.
func (g *group) finish() {
	if !g.empty(leftoverQuiet) {
		g.toRelatives(relative.ask)
		g.ask()
		if !g.empty(leftoverGrace) {
			g.toRelatives(relative.kill)
			g.kill()
			g.empty(clearedWait) // the dead stay listed where nobody waits for them
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	g.members.release()
}

// toRelatives signals those that still run.
func (g *group) toRelatives(send func(relative)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range g.relatives {
		if r.alive() {
			send(r)
		}
	}
}

// empty waits until nothing of the group runs, and reports whether it came to that before
// the limit.
func (g *group) empty(limit time.Duration) bool {
	over := time.NewTimer(limit)
	defer over.Stop()
	for g.runs() {
		select {
		case <-over.C:
			return false
		case <-time.After(pollEvery):
		}
	}
	return true
}

func (g *group) runs() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.members.empty() || slices.ContainsFunc(g.relatives, relative.alive)
}
