package stdio

import (
	"os/exec"
	"sync"
	"time"
)

const (
	leftoverQuiet = 200 * time.Millisecond // for members that end by themselves after the leader
	leftoverGrace = 500 * time.Millisecond // for members that were asked to end
	clearedWait   = 2 * time.Second        // for the system to clear away what was killed
	pollEvery     = 10 * time.Millisecond
)

// group is a child and all that it started, as far as it did not leave.
type group struct {
	mu      sync.Mutex
	members members
	ended   bool // its number may belong to somebody else
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

func (g *group) signal(send func(members)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended {
		send(g.members)
	}
}

// finish ends what is left of the group after its leader: an agent whose leader has ended
// is over. Members get a moment to end by themselves, then they are asked, then killed.
//
// RACE: between the leader's end and the look at the group, its number can belong to a
// new group if the system used up all numbers within that moment.
func (g *group) finish() {
	if !g.empty(leftoverQuiet) {
		g.ask()
		if !g.empty(leftoverGrace) {
			g.kill()
			g.empty(clearedWait) // the dead stay listed where nobody waits for them
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	g.members.release()
}

// empty waits until the group has no member, and reports whether it came to that before
// the limit.
func (g *group) empty(limit time.Duration) bool {
	over := time.NewTimer(limit)
	defer over.Stop()
	for !g.members.empty() {
		select {
		case <-over.C:
			return false
		case <-time.After(pollEvery):
		}
	}
	return true
}
