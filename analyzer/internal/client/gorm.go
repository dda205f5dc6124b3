package client

// gorm.io/gorm, and its first version, github.com/jinzhu/gorm, whose import path differs. A *gorm.DB
// is handle and builder in one: it is a pool unless Begin, Transaction or Connection made it.

// gormQuery builds and runs statements, alike in both versions.
var gormQuery = table(
	[]Method{
		send("Exec", "sql args", Chain),
		run("Scan", "dest", Chain),
		run("Row", "", Row),
		run("Rows", "", Rows),
		run("Count", "dest", Chain),
		read("ScanRows", "handle dest", ReadScan),
	},
	in("raw", build("Raw", "sql args")),
	// After Raw the column's name is not looked at.
	in("select", run("Pluck", "sql dest", Chain)),
	// Conditions given here: the first is the text, the others are its arguments.
	each("First Last Take Find", func(n string) Method {
		return listed(in("where", run(n, "dest sql", Chain))[0])
	}),
	// Statements whose text gorm makes from a model; the value may be written to.
	each("Create Save Delete FirstOrCreate Updates UpdateColumns", func(n string) Method {
		return run(n, "dest", Chain)
	}),
	each("Update UpdateColumn", func(n string) Method { return run(n, "", Chain) }),
)

// gormClauses add to the statement that is being built.
var gormClauses = table(
	each("Where Or Not", func(n string) Method { return clause(n, "sql args", "where") }),
	[]Method{
		clause("Select", "sql args", "select"),
		clause("Joins", "sql args", "from"),
		clause("Having", "sql args", "having"),
		clause("Group", "sql", "group"),
		clause("Order", "sql", "order"),
		clause("Limit", "", "limit"),
		clause("Offset", "", ""),
		clause("Preload", "", ""),
		clause("Omit", "", ""),
	},
	each("Model Attrs Assign Debug Set Unscoped Scopes", func(n string) Method { return same(n, "") }),
)

// gormEnds are a transaction's ends.
var gormEnds = []Method{
	end("Commit", "", CommitTx),
	end("Rollback", "", RollbackTx),
}

var gormLibrary = library{
	path: "gorm.io/gorm",
	embedded: map[string]string{
		"ChainInterface":  "ExecInterface",
		"CreateInterface": "ExecInterface",
		"Interface":       "CreateInterface",
		"PreparedStmtDB":  "ConnPool",
		"PreparedStmtTX":  "Tx",
		"Tx":              "ConnPool TxCommitter",
	},
	types: allTypes(
		[]Type{
			{Name: "DB", Kind: Pool, Weak: true},
			{Name: "PreparedStmtDB", Kind: Pool, Weak: true},
			{Name: "PreparedStmtTX", Kind: Tx},
			{Name: "Tx", Kind: Tx},
			{Name: "TxCommitter", Kind: Tx}, // embedded in Tx
		},
		typesOf("ConnPool TxBeginner Interface", Handle, Unknown),
		typesOf("ChainInterface ExecInterface CreateInterface", Builder, Unknown),
		typesOf("Rows", Results, Unknown),
	),
	funcs: []Method{
		derive("Open", "dsn", Pool),
		derive("G", "handle", Unknown), // the same handle behind the generic interface
		text("Expr", "sql args"),
	},
	methods: table(
		on("DB", gormQuery...),
		on("DB", gormClauses...),
		on("DB", gormEnds...),
		on("DB",
			clause("Table", "sql args", "from"),
			listed(clause("Distinct", "sql", "select")),
			clause("InnerJoins", "sql args", "from"),
			clause("Clauses", "sql", "suffix"),
			same("WithContext", "ctx"),
			same("Session", ""),
			same("InstanceSet", ""),
			same("MapColumns", ""),
			same("SavePoint", ""),
			same("RollbackTo", ""), // to a savepoint: the transaction stays open
			derive("Begin", "opts", Tx),
			derive("DB", "", Pool),
			callback("Transaction", "fn opts", Tx, CommitTx),
			callback("Connection", "fn", Conn, Return),
			run("CreateInBatches", "dest", Chain),
			run("FindInBatches", "dest", Chain),
			run("FirstOrInit", "dest", Chain),
		),
		// The pool interface below, which *sql.DB, *sql.Conn and *sql.Tx implement.
		on("ConnPool PreparedStmtDB PreparedStmtTX",
			send("ExecContext", "ctx sql args", Tag),
			send("QueryContext", "ctx sql args", Rows),
			send("QueryRowContext", "ctx sql args", Row),
		),
		on("ConnPool", build("PrepareContext", "ctx sql")),
		on("TxBeginner", derive("BeginTx", "ctx opts", Tx)),
		on("PreparedStmtDB", derive("BeginTx", "ctx opts", Tx)),
		on("PreparedStmtTX TxCommitter", gormEnds...),
		on("Tx", build("StmtContext", "ctx stmt")),
		gormGenerics,
		on("Rows",
			read("Scan", "dest", ReadScan),
			read("Next", "", ReadNext),
			read("Err", "", ReadErr),
			read("Close", "", ReadClose),
			nothing("Columns"),
			nothing("ColumnTypes"),
		),
	),
}

// gormGenerics is the interface that gorm.G gives. Its methods run with the context they are given.
var gormGenerics = table(
	on("Interface", send("Exec", "ctx sql args", Lost)),
	on("Interface", in("raw", build("Raw", "sql args"))...),
	on("ExecInterface",
		run("Scan", "ctx dest", Dest),
		run("First", "ctx", Value),
		run("Last", "ctx", Value),
		run("Take", "ctx", Value),
		run("Find", "ctx", Value),
		run("Row", "ctx", Row),
		run("Rows", "ctx", Rows),
	),
	on("ChainInterface",
		clause("Where", "sql args", "where"),
		clause("Or", "sql args", "where"),
		clause("Not", "sql args", "where"),
		clause("Select", "sql args", "select"),
		listed(clause("Distinct", "sql", "select")),
		clause("Having", "sql args", "having"),
		clause("Table", "sql args", "from"),
		clause("Group", "sql", "group"),
		clause("Order", "sql", "order"),
		clause("Limit", "", "limit"),
		clause("Offset", "", ""),
		run("Count", "ctx", Value),
	),
	on("CreateInterface",
		clause("Where", "sql args", "where"),
		clause("Or", "sql args", "where"),
		clause("Not", "sql args", "where"),
		clause("Having", "sql args", "having"),
		clause("Select", "sql args", "select"),
		clause("Table", "sql args", "from"),
		clause("Limit", "", "limit"),
	),
)

var gormV1Library = library{
	path: "github.com/jinzhu/gorm",
	types: []Type{
		{Name: "DB", Kind: Pool, Weak: true},
		{Name: "SQLCommon"}, // *sql.DB or *sql.Tx
		{Name: "SqlExpr", Role: Fragment},
	},
	funcs: []Method{
		derive("Open", "_ dsn", Pool),
		text("Expr", "sql args"),
	},
	methods: table(
		on("DB", gormQuery...),
		on("DB", gormClauses...),
		on("DB", gormEnds...),
		on("DB",
			clause("Table", "sql", "from"),
			same("New", ""),
			same("LogMode", ""),
			same("InstantSet", ""),
			same("CommonDB", ""),
			derive("Begin", "", Tx),
			derive("BeginTx", "ctx opts", Tx),
			derive("DB", "", Pool),
			callback("Transaction", "fn", Tx, CommitTx),
			end("RollbackUnlessCommitted", "", RollbackTx),
			end("Close", "", EndSession),
		),
		on("SQLCommon",
			send("Exec", "sql args", Tag),
			send("Query", "sql args", Rows),
			send("QueryRow", "sql args", Row),
			build("Prepare", "sql"),
		),
	),
}

// gormClauseLibrary is gorm's clauses as values; Expr is a struct with SQL and Vars fields.
var gormClauseLibrary = library{
	path:  "gorm.io/gorm/clause",
	types: typesOf("Expr NamedExpr Expression", Fragment, Unknown),
}
