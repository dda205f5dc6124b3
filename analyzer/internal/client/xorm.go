package client

// xorm.io/xorm, formerly github.com/go-xorm/xorm. A Session is a builder and a handle; before Begin
// each of its statements takes a connection from the pool, and Commit and Rollback make it so again
// (session_tx.go: isAutoCommit).

// EngineInterface embeds Interface, which declares the methods.
const xormBuilders = "Engine Session Interface"

// xormRaw runs raw text given as the first of a list, or what was built when the list is empty.
func xormRaw(name string, a Answer) Method {
	return listed(send(name, "sql", a))
}

var xormLibrary = library{
	path: "xorm.io/xorm",
	embedded: map[string]string{
		"EngineGroup":     "Engine",
		"EngineInterface": "Interface",
	},
	types: []Type{
		{Name: "Engine", Kind: Pool},
		{Name: "EngineGroup", Kind: Pool},
		{Name: "EngineInterface", Kind: Pool},
		{Name: "Interface"}, // Engine or Session
		{Name: "Session", Kind: Pool, Weak: true},
		{Name: "Rows", Role: Results},
	},
	funcs: []Method{
		derive("NewEngine", "_ dsn", Pool),
		derive("NewEngineWithParams", "_ dsn", Pool),
		derive("NewEngineWithDB", "_ dsn", Pool),
		derive("NewEngineGroup", "_ dsn", Pool),
	},
	methods: table(
		on(xormBuilders,
			xormRaw("Exec", Tag),
			xormRaw("Query", Value),
			xormRaw("QueryString", Value),
			xormRaw("QueryInterface", Value),
		),
		on("EngineGroup",
			xormRaw("Query", Value),
			xormRaw("QueryString", Value),
			xormRaw("QueryInterface", Value),
			run("Rows", "", Rows),
			limit("SetMaxOpenConns"),
			derive("NewSession", "", Pool),
			same("Context", "ctx"),
			same("Master", ""),
			same("Slave", ""),
			end("Close", "", EndSession),
		),
		on("Session", xormRaw("QuerySliceString", Value)),
		on(xormBuilders, in("raw", build("SQL", "sql args"))...),
		on("Engine Session", in("raw", only("go-xorm", build("Sql", "sql args"))...)...),
		on(xormBuilders,
			run("Get", "dest", Dest),
			run("Exist", "dest", Value),
			run("Find", "dest", Dest),
			run("FindAndCount", "dest", Dest),
			run("Count", "", Value),
			run("Rows", "", Rows),
			run("Insert", "", Value),
			run("InsertOne", "", Value),
			run("Update", "", Value),
			run("Delete", "", Value),
			clause("Where", "sql args", "where"),
			clause("In", "", "where"),
			clause("NotIn", "", "where"),
			clause("ID", "", "where"),
			clause("Select", "sql", "select"),
			clause("Cols", "", "select"),
			clause("Distinct", "", "select"),
			clause("Join", "_ _ sql args", "from"),
			clause("GroupBy", "sql", "group"),
			clause("OrderBy", "sql", "order"),
			clause("Desc", "", "order"),
			clause("Asc", "", "order"),
			clause("Limit", "", "limit"),
			same("Alias", ""),
			same("Table", ""),
			same("Omit", ""),
			same("Unscoped", ""),
		),
		on("Engine Session",
			clause("Having", "sql", "having"),
			same("Context", "ctx"),
		),
		on("EngineInterface", same("Context", "ctx")),
		on("Session",
			clause("And", "sql args", "where"),
			clause("Or", "sql args", "where"),
			clause("ForUpdate", "", "suffix"),
			// These turn the session itself into a transaction.
			derive("Begin", "", Tx),
			derive("BeginTx", "opts", Tx),
			end("Commit", "", CommitTx),
			end("Rollback", "", RollbackTx),
			end("Close", "", RollbackTx), // rolls back what is not committed
			derive("Engine", "", Pool),
		),
		on("Engine EngineInterface", derive("NewSession", "", Pool)),
		on("Engine",
			limit("SetMaxOpenConns"),
			callback("Transaction", "fn", Tx, CommitTx),
			end("Close", "", EndSession),
		),
		on("Rows",
			read("Scan", "dest", ReadScan),
			read("Next", "", ReadNext),
			read("Err", "", ReadErr),
			read("Close", "", ReadClose),
		),
	),
}
