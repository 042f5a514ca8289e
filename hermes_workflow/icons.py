"""The icon set: 16 px outlines drawn with one stroke, and which icon stands for which thing."""

ICONS = {
    "inbox": '<path d="M2.25 9.5 4 3.7a1.6 1.6 0 0 1 1.5-1.2h5A1.6 1.6 0 0 1 12 3.7l1.75 5.8V12a1.5 1.5 0 0 1-1.5 '
    '1.5h-8.5a1.5 1.5 0 0 1-1.5-1.5z"/>'
    '<path d="M2.25 9.5H5.5l1 1.75h3l1-1.75h3.25"/>',
    "run": '<path d="M4.5 3v10l8-5z"/>',
    "design": '<rect x="1.5" y="6" width="4" height="4" rx="1"/><rect x="10.5" y="2" width="4" height="4" rx="1"/>'
    '<rect x="10.5" y="10" width="4" height="4" rx="1"/>'
    '<path d="M5.5 8H8m2.5-4H9.25A1.25 1.25 0 0 0 8 5.25v5.5A1.25 1.25 0 0 0 9.25 12h1.25"/>',
    "schedule": '<rect x="2" y="3" width="12" height="11" rx="1.5"/><path d="M2 6.5h12M5.25 1.5V4m5.5-2.5V4"/>',
    "clock": '<circle cx="8" cy="8" r="6"/><path d="M8 4.75V8l2.25 1.5"/>',
    "person": '<circle cx="6.5" cy="5" r="2.5"/><path d="M2 13.25c0-2.6 1.9-4.25 4.5-4.25 1 0 1.8.2 2.5.65M10 11.75l1.5 1.5 2.75-3.25"/>',
    "robot": '<rect x="2.5" y="5" width="11" height="8" rx="2"/><path d="M8 5V2.5M5.75 8.5v1.25m4.5-1.25v1.25"/>',
    "tick": '<path d="m3.25 8.5 3 3 6.5-7"/>',
    "done": '<circle cx="8" cy="8" r="6"/><path d="m5.25 8.25 1.9 1.9 3.6-4"/>',
    "octagon": '<path d="M5.5 2h5L14 5.5v5L10.5 14h-5L2 10.5v-5z"/><path d="M8 5v3.25M8 11v.01"/>',
    "slash": '<circle cx="8" cy="8" r="6"/><path d="M3.9 12.1 12.1 3.9"/>',
    "ring": '<path d="M8 2a6 6 0 1 1-6 6"/>',
    "dots": '<circle cx="8" cy="8" r="6" stroke-dasharray="2.4 2.3"/>',
    "shield": '<path d="M8 1.75 13 3.5V8c0 3-2 5.25-5 6.25C5 13.25 3 11 3 8V3.5z"/><path d="m5.75 7.9 1.6 1.6 2.9-3.2"/>',
    "send": '<path d="M14 2 7 9m7-7L9.75 14 7 9 2 6.25z"/>',
    "search": '<circle cx="7" cy="7" r="4.5"/><path d="m10.5 10.5 3.25 3.25"/>',
    "bell": '<path d="M8 2a4 4 0 0 0-4 4c0 3.5-1.5 5-1.5 5h11S12 9.5 12 6a4 4 0 0 0-4-4M6.75 13.5a1.4 1.4 0 0 0 2.5 0"/>',
    "filter": '<path d="M2 3h12L9.5 8.5V13l-3-1.5V8.5z"/>',
    "close": '<path d="m4 4 8 8m0-8-8 8"/>',
    "undo": '<path d="M6 3 3 6l3 3M3 6h6.5a3.5 3.5 0 0 1 0 7H6"/>',
    "lock": '<rect x="3.25" y="7" width="9.5" height="6.5" rx="1.5"/><path d="M5.5 7V5a2.5 2.5 0 0 1 5 0v2"/>',
    "eye": '<path d="M1.5 8S3.75 3.5 8 3.5 14.5 8 14.5 8 12.25 12.5 8 12.5 1.5 8 1.5 8"/><circle cx="8" cy="8" r="2"/>',
    "image": '<rect x="2" y="2.5" width="12" height="11" rx="1.5"/><circle cx="5.5" cy="6" r="1"/><path d="m3 12 3.5-3.5L9 11l2-2 3 3"/>',
    "right": '<path d="m6 3.5 4.5 4.5L6 12.5"/>',
    "left": '<path d="M10 3.5 5.5 8l4.5 4.5"/>',
    "down": '<path d="M3.5 6 8 10.5 12.5 6"/>',
    "up": '<path d="M3.5 10 8 5.5l4.5 4.5"/>',
    "plus": '<path d="M8 3v10M3 8h10"/>',
    "minus": '<path d="M3 8h10"/>',
    "retry": '<path d="M13.5 8A5.5 5.5 0 1 1 8 2.5c2 0 3.5 1 4.5 2.5M12.75 2v3.25H9.5"/>',
    "stop": '<rect x="3.5" y="3.5" width="9" height="9" rx="1.5"/>',
    "copy": '<rect x="5.5" y="5.5" width="8" height="8" rx="1.5"/>'
    '<path d="M3.5 10.5H3A1 1 0 0 1 2 9.5V3a1 1 0 0 1 1-1h6.5a1 1 0 0 1 1 1v.5"/>',
    "more": '<path d="M3.25 8v.01M8 8v.01M12.75 8v.01" stroke-width="2"/>',
    "warn": '<path d="M8 2.25 14.25 13H1.75z"/><path d="M8 6.5v3M8 11.25v.01"/>',
    "info": '<circle cx="8" cy="8" r="6"/><path d="M8 7.5V11M8 5v.01"/>',
    "bolt": '<path d="M9 1.75 3.5 9H8l-1 5.25L12.5 7H8z"/>',
    "diamond": '<path d="M8 2.25 13.75 8 8 13.75 2.25 8z"/>',
    "note": '<path d="M3 2.5h10v7L9.5 13.5H3z"/><path d="M9.5 13.5v-4H13"/>',
    "download": '<path d="M8 2.5v7.5M4.75 7 8 10.25 11.25 7M2.5 13.5h11"/>',
    "upload": '<path d="M8 10.25V2.75M4.75 5.75 8 2.5l3.25 3.25M2.5 13.5h11"/>',
    "key": '<circle cx="5" cy="11" r="2.75"/><path d="m7 9 6.5-6.5M10.5 5.5l2 2"/>',
    "user": '<circle cx="8" cy="5.25" r="2.75"/><path d="M2.75 13.75c.3-2.8 2.4-4.25 5.25-4.25s4.95 1.45 5.25 4.25"/>',
    "leave": '<path d="M6.5 13.5H3a1 1 0 0 1-1-1v-9a1 1 0 0 1 1-1h3.5M10.5 11l3-3-3-3M13.5 8H6"/>',
    "settings": '<path d="M2.5 4.5h6m3 0h2m-11 7h2m3 0h6"/><circle cx="10" cy="4.5" r="1.5"/><circle cx="6" cy="11.5" r="1.5"/>',
    "edit": '<path d="M10.5 3 13 5.5 5.5 13l-3 .5.5-3z"/>',
    "trash": '<path d="M2.5 4.5h11M6 4.5v-2h4v2M4 4.5l.5 9h7l.5-9"/>',
    "file": '<path d="M4 1.75h5l3.5 3.5v9H4z"/><path d="M9 1.75v3.5h3.5"/>',
    "link": '<path d="M6.75 9.25a2.5 2.5 0 0 0 3.5 0l2.5-2.5a2.5 2.5 0 0 0-3.5-3.5l-.75.75M9.25 6.75a2.5 2.5 0 0 0-3.5 '
    '0l-2.5 2.5a2.5 2.5 0 0 0 3.5 3.5l.75-.75"/>',
}

MARK = '<path d="M4 3h5M5.5 7H9M9 3v18M19 3v18M9 12h10"/><circle cx="14" cy="12" r="3.4"/>'

STATUS_ICONS = {
    "running": "ring",
    "awaiting_approval": "person",
    "awaiting_agent": "robot",
    "waiting": "clock",
    "done": "done",
    "failed": "octagon",
    "cancelled": "slash",
}

STATUS_WORDS = {
    "running": "Running",
    "awaiting_approval": "Needs approval",
    "awaiting_agent": "Needs agent",
    "waiting": "Waiting",
    "done": "Done",
    "failed": "Failed",
    "cancelled": "Cancelled",
}

KIND_ICONS = {
    "trigger": "bolt",
    "agent": "robot",
    "awaiting_agent": "robot",
    "condition": "diamond",
    "approval": "person",
    "input": "person",
    "output": "send",
    "note": "note",
}

STATE_ICONS = {
    "done": "done",
    "waiting": "person",
    "waiting_agent": "robot",
    "running": "ring",
    "skipped": "slash",
    "failed": "octagon",
    "cancelled": "slash",
    "pending": "dots",
}

OPTION_ICONS = {
    **dict.fromkeys(("approve", "approved", "accept", "yes", "ok", "allow", "confirm", "publish", "merge"), ("tick", "ok")),
    **dict.fromkeys(("reject", "rejected", "deny", "decline", "no", "refuse"), ("close", "bad")),
    **dict.fromkeys(("send back", "send_back", "send-back", "revise", "rework", "request changes", "request_changes"), ("undo", "plain")),
}
