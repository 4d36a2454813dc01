"""Who holds which paths: scopes, reservations, queue, freeze, transfers, contests, incursions. Who agents are is in
`agents`."""
