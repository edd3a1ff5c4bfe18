-- What a check costs every row. For a list of values SQLite makes a table of them, again for each row; comparisons are only made.
-- What is allowed stays the same, and so do the rows.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'status IN (''available'', ''pending'', ''sold'')',
    'status = ''available'' OR status = ''pending'' OR status = ''sold''')
WHERE type = 'table' AND name = 'pets';
UPDATE sqlite_schema SET sql = replace(sql, 'status IN (''placed'', ''approved'', ''delivered'', ''cancelled'', ''expired'')',
    'status = ''placed'' OR status = ''approved'' OR status = ''delivered'' OR status = ''cancelled'' OR status = ''expired''')
WHERE type = 'table' AND name = 'orders';
UPDATE sqlite_schema SET sql = replace(sql, 'status IN (''pending'', ''succeeded'', ''failed'')',
    'status = ''pending'' OR status = ''succeeded'' OR status = ''failed''')
WHERE type = 'table' AND name = 'deliveries';
PRAGMA writable_schema = RESET;
