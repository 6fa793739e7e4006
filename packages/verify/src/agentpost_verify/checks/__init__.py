"""Every check, a file for each resource; `running.GROUPS` has their order."""
