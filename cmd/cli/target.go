package cli

// This file holds openTarget: the store, the state folder and the target every verb opens.
