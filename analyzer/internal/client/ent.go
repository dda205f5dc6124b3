package client

// entgo.io/ent, the SQL dialect below its generated clients. Exec and Query write to their last
// argument: a *sql.Result or nil, a *sql.Rows. The ExecContext and QueryContext of a generated client
// are methods of the program, which Shape recognises.

// entSend is the dialect's two ways to send text.
var entSend = []Method{
	send("Exec", "ctx sql args dest", Dest),
	send("Query", "ctx sql args dest", Dest),
}

var entLibrary = library{
	path: "entgo.io/ent/dialect",
	embedded: map[string]string{
		"DebugDriver": "Driver",
		"DebugTx":     "Tx",
		"Driver":      "ExecQuerier",
		"Tx":          "database/sql/driver.Tx ExecQuerier",
	},
	types: []Type{
		{Name: "Driver"}, // a transaction implements it too
		{Name: "Tx", Kind: Tx},
		{Name: "DebugDriver", Kind: Pool},
		{Name: "DebugTx", Kind: Tx},
		{Name: "ExecQuerier"},
	},
	funcs: []Method{
		derive("Debug", "handle", Unknown),
		derive("DebugWithContext", "handle", Unknown),
		derive("NopTx", "handle", Unknown),
	},
	methods: table(
		on("ExecQuerier DebugDriver DebugTx", entSend...),
		on("DebugDriver DebugTx",
			send("ExecContext", "ctx sql args", Tag),
			send("QueryContext", "ctx sql args", Rows),
		),
		on("Driver DebugDriver", derive("Tx", "ctx", Tx)),
		on("DebugDriver", derive("BeginTx", "ctx opts", Tx)),
		on("Driver", end("Close", "", EndSession)),
		on("DebugTx",
			end("Commit", "", CommitTx),
			end("Rollback", "", RollbackTx),
		),
	),
}

var entSQLLibrary = library{
	path: "entgo.io/ent/dialect/sql",
	embedded: map[string]string{
		"Conn":   "ExecQuerier",
		"Driver": "Conn",
		"Rows":   "ColumnScanner",
		"Tx":     "database/sql/driver.Tx Conn",
	},
	types: []Type{
		{Name: "Driver", Kind: Pool},
		{Name: "Tx", Kind: Tx},
		{Name: "Conn"}, // embedded in both; wraps an ExecQuerier
		{Name: "ExecQuerier"},
		{Name: "Rows", Role: Results},
		{Name: "ColumnScanner", Role: Results},
		{Name: "Selector", Role: Builder},
		{Name: "Predicate", Role: Fragment},
		{Name: "Querier", Role: Fragment},
	},
	funcs: []Method{
		derive("Open", "_ dsn", Pool),
		derive("OpenDB", "_ handle", Pool),
		text("Raw", "sql"),
		text("Expr", "sql args"),
		text("ExprP", "sql args"),
		in("select", build("Select", "sql"))[0],
		read("ScanBool", "handle", ReadAll),
		read("ScanInt", "handle", ReadAll),
		read("ScanInt64", "handle", ReadAll),
		read("ScanString", "handle", ReadAll),
		read("ScanValue", "handle", ReadAll),
		read("ScanOne", "handle dest", ReadScan),
		read("ScanSlice", "handle dest", ReadScan),
	},
	methods: table(
		on("Conn", entSend...),
		on("ExecQuerier",
			send("ExecContext", "ctx sql args", Tag),
			send("QueryContext", "ctx sql args", Rows),
		),
		on("Driver",
			derive("DB", "", Pool),
			derive("Tx", "ctx", Tx),
			derive("BeginTx", "ctx opts", Tx),
			end("Close", "", EndSession),
		),
		on("ColumnScanner",
			read("Scan", "dest", ReadScan),
			read("Next", "", ReadNext),
			read("NextResultSet", "", ReadNext),
			read("Err", "", ReadErr),
			read("Close", "", ReadClose),
		),
		on("Selector",
			clause("SelectExpr", "sql", "select"),
			clause("AppendSelectExpr", "sql", "select"),
			clause("AppendSelect", "sql", "select"),
			clause("Select", "sql", "select"),
			clause("From", "", "from"),
			clause("Where", "sql", "where"),
			clause("Having", "sql", "having"),
			clause("OrderBy", "sql", "order"),
			clause("OrderExpr", "sql", "order"),
			clause("Limit", "", "limit"),
			clause("Offset", "", ""),
			text("Query", ""),
		),
	),
}
