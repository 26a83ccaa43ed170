package cli

import (
	"context"

	"agentsync/dirsync/life"
)

// bindingCandidates are this installation's bindings, or the plans of them. What cannot be
// read offers nothing.
func (v *invocation) bindingCandidates(ctx context.Context, kind string) (offered []candidate) {
	s, err := v.settings()
	if err != nil {
		return nil
	}
	found, broken, err := v.everyBinding(ctx, s)
	if err != nil {
		return nil
	}
	for _, b := range broken {
		if kind == "BINDING" {
			offered = append(offered, candidate{b.ID, "damaged"})
		}
	}
	for _, b := range found {
		switch {
		case kind == "BINDING":
			offered = append(offered, candidate{b.ID, b.Root})
		case b.state.Phase != life.NoPlan:
			offered = append(offered, candidate{planDigits(b.state.Plan), b.ID + ", " + phaseTexts[b.state.Phase]})
		}
	}
	return offered
}
