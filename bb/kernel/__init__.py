"""The ground floor: errors, events, ids, clock arithmetic, canonical JSON. Nothing here touches the outside."""
