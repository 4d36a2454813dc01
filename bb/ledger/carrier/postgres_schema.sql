-- The tables and functions of bb in a PostgreSQL database (13 or later): the logs of any number of repositories.
--
-- The owner of the schema keeps the engine. A machine of the fleet has a role that may only execute the functions which
-- `bb fleet enroll` names; it has no right to a table. Everything here can be run again, and keeps what is there.

create schema if not exists bb;

-- A log of one incarnation. PLACE and DIGEST are those of the last row. OLDEST is the first row that is still there.
create table if not exists bb.log (
    id integer generated always as identity primary key,
    repo text not null,
    incarnation text not null,
    first bigint not null,
    place bigint not null,
    oldest bigint not null,
    digest bytea not null,
    notified_at bigint not null default 0,
    is_closed boolean not null default false,
    unique (repo, incarnation)
) with (fillfactor = 20);  -- one row of it changes with each append, and stays in its page

-- A writer of a log: the number of its last line, and the role that may append its lines, from its first use on.
create table if not exists bb.writer (
    log integer not null references bb.log,
    writer text not null,
    last bigint not null,
    role name,
    primary key (log, writer)
) with (fillfactor = 50);

-- A row of a log: the lines FIRST to LAST of a writer.
create table if not exists bb.row (
    log integer not null,
    place bigint not null,
    writer text not null,
    first bigint not null,
    last bigint not null,
    at bigint not null,
    digest bytea not null,
    octets bytea not null,
    primary key (log, place)
);
create index if not exists row_of_writer on bb.row (log, writer, last);

-- The last beat of each relay. Nothing is lost if this table is emptied, which a crash of the server does.
create unlogged table if not exists bb.beat (
    log integer not null,
    writer text not null,
    role name not null,
    place bigint not null,
    agents text not null,
    at timestamptz not null,
    primary key (log, writer)
) with (fillfactor = 50);

create or replace function bb.version() returns integer
language sql immutable security definer set search_path = pg_catalog, pg_temp as 'select 1';

-- The operator is named with its schema: a caller without a fixed search_path could meet another one in `public`.
create or replace function bb.milliseconds() returns bigint language sql volatile as
    'select (extract(epoch from pg_catalog.clock_timestamp()) operator(pg_catalog.*) 1000)::pg_catalog.int8';

-- Whether the role of this session may use a writer of a log. The first role that uses a writer is bound to it.
create or replace function bb.may_use(the_log integer, the_writer text) returns boolean
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
    bound name;
begin
    if the_writer !~ '^[a-z2-7]{12}$' then
        raise invalid_parameter_value using message = 'that is not the id of a writer';
    end if;
    select w.role into bound from bb.writer w where w.log = the_log and w.writer = the_writer;
    if bound is null then
        if (select count(*) from bb.writer w where w.log = the_log and w.role = session_user) >= 1000 then
            return false;
        end if;
        insert into bb.writer as w (log, writer, last, role) values (the_log, the_writer, 0, session_user)
            on conflict (log, writer) do update set role = coalesce(w.role, session_user)
            returning w.role into bound;
    end if;
    return bound = session_user;
end $$;

-- Append lines of a writer, FIRST being the number of the first one. Each line ends with a newline. Returns the place of
-- the row that has the last line. If the problem is not null, nothing was appended: 'log' (there is no such log),
-- 'closed', 'denied', 'gap' (the next line must have the number EXPECTED), 'forked' (the log has other lines with these
-- numbers), 'fsync' (the server does not write to its disk).
--
-- The lock on the row in bb.log is held until the transaction is committed, so places follow the order of commits.
create or replace function bb.append(
    the_repo text, the_incarnation text, the_writer text, the_first bigint, the_octets bytea,
    out place bigint, out problem text, out expected bigint)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '3s' as $$
declare
    l bb.log;
    have bigint;
    bound name;
    octets bytea := the_octets;
    given text;
    lines bigint;
    known bytea;
    known_from bigint;
    from_line bigint;
    same bigint;
    now_ms bigint;
    next_digest bytea;
begin
    if the_first is null or the_first < 1 or the_first > 1000000000000 or octet_length(octets) not between 1 and 4194304
        or octets is null or get_byte(octets, octet_length(octets) - 1) <> 10
    then
        raise invalid_parameter_value using message = 'the lines are malformed, or too many for one row';
    end if;
    if current_setting('fsync') <> 'on' then
        problem := 'fsync';
        return;
    end if;
    if current_setting('synchronous_commit') not in ('on', 'remote_apply') then
        perform set_config('synchronous_commit', 'on', true);
    end if;
    given := convert_from(octets, 'LATIN1');  -- a character for each octet
    lines := octet_length(octets) - length(replace(given, e'\n', ''));

    select * into l from bb.log t where t.repo = the_repo and t.incarnation = the_incarnation for no key update;
    if not found then
        problem := 'log';
        return;
    end if;
    select w.last, w.role into have, bound from bb.writer w where w.log = l.id and w.writer = the_writer;
    if bound is distinct from session_user and not bb.may_use(l.id, the_writer) then
        problem := 'denied';
        return;
    end if;
    have := coalesce(have, 0);
    if the_first > have + 1 then
        problem := case when l.is_closed then 'closed' else 'gap' end;
        expected := have + 1;
        return;
    end if;

    if the_first <= have then  -- some or all of these lines were sent before
        same := least(the_first + lines - 1, have);  -- the last number that both have
        select min(r.first) into known_from from bb.row r
            where r.log = l.id and r.writer = the_writer and r.last >= the_first and r.first <= same;
        if known_from is not null then  -- lines of before the log, or that were pruned, cannot be compared
            if (select sum(octet_length(r.octets)) from bb.row r where r.log = l.id and r.writer = the_writer
                and r.last >= the_first and r.first <= same) > octet_length(octets) + 2 * 4194304
            then
                problem := 'forked';
                return;
            end if;
            select string_agg(r.octets, ''::bytea order by r.first) into known from bb.row r
                where r.log = l.id and r.writer = the_writer and r.last >= the_first and r.first <= same;
            from_line := greatest(the_first, known_from);
            if (string_to_array(given, e'\n'))[from_line - the_first + 1 : same - the_first + 1]
                <> (string_to_array(convert_from(known, 'LATIN1'), e'\n'))[from_line - known_from + 1 : same - known_from + 1]
            then
                problem := 'forked';
                return;
            end if;
        end if;
        if the_first + lines - 1 <= have then
            select r.place into place from bb.row r where r.log = l.id and r.writer = the_writer
                and r.last >= the_first + lines - 1 and r.first <= the_first + lines - 1;
            place := coalesce(place, l.oldest - 1);
            return;
        end if;
        given := array_to_string((string_to_array(given, e'\n'))[same - the_first + 2 :], e'\n');
        octets := convert_to(given, 'LATIN1');
        lines := the_first + lines - 1 - have;
    end if;
    if l.is_closed then
        problem := 'closed';
        return;
    end if;

    now_ms := bb.milliseconds();
    place := l.place + 1;
    next_digest := sha256(l.digest || convert_to(
        place || ' ' || the_writer || ' ' || (have + 1) || ' ' || octet_length(octets) || e'\n', 'UTF8') || octets);
    insert into bb.row (log, place, writer, first, last, at, digest, octets)
        values (l.id, place, the_writer, have + 1, have + lines, now_ms, next_digest, octets);
    update bb.writer w set last = have + lines where w.log = l.id and w.writer = the_writer;
    -- A notification wakes every reader, which costs more than the append. Readers look again by themselves soon after
    -- they have read something, so those right after another one are left out.
    update bb.log t set place = append.place, digest = next_digest,
        notified_at = case when now_ms - l.notified_at between 0 and 50 then l.notified_at else now_ms end
        where t.id = l.id;
    if now_ms - l.notified_at not between 0 and 50 then
        perform pg_notify('bb_' || l.id, place::text);
    end if;
end $$;

-- The state of a log. No row if there is no such log.
create or replace function bb.head(
    the_repo text, the_incarnation text,
    out log integer, out place bigint, out digest bytea, out oldest bigint, out is_closed boolean, out now bigint)
returns setof record language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select t.id, t.place, t.digest, t.oldest, t.is_closed, bb.milliseconds()
    from bb.log t where t.repo = the_repo and t.incarnation = the_incarnation
$$;

-- At most MOST rows after place SINCE, and a few MiB of them. If the row that follows SINCE was pruned, or there is no
-- such log, the only row has no place; FIRST then is the oldest place that is left.
create or replace function bb.read(
    the_repo text, the_incarnation text, since bigint, most integer,
    out place bigint, out writer text, out first bigint, out at bigint, out digest bytea, out octets bytea)
returns setof record language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
    l bb.log;
    upto bigint;
begin
    select * into l from bb.log t where t.repo = the_repo and t.incarnation = the_incarnation;
    if l.id is null or since + 1 < l.oldest then
        first := l.oldest;
        return next;
        return;
    end if;
    if since >= l.place then
        return;
    end if;
    upto := least(l.place, since + least(greatest(most, 1), 5000));
    if upto > since + 1 then
        select max(b.place) into upto from (
            select r.place, sum(octet_length(r.octets)) over (order by r.place) as total
            from bb.row r where r.log = l.id and r.place > since and r.place <= upto
        ) b where b.total <= 4194304 or b.place = since + 1;
    end if;
    return query select r.place, r.writer, r.first, r.at, r.digest, r.octets
        from bb.row r where r.log = l.id and r.place > since and r.place <= upto order by r.place;
end $$;

-- End the sessions of machines whose transaction is open for too long; returns their roles. bb needs no transaction for
-- more than some seconds, and one that stays open can keep a log locked, so that nobody can append. A role can switch
-- off the limits that it was given, so this does not depend on them. Only roles are concerned that the owner of the
-- schema is a member of, as `bb fleet enroll` makes it.
create or replace function bb.end_stuck() returns text
language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select string_agg(distinct a.usename::text, ', ') filter (where pg_terminate_backend(a.pid))
    from pg_stat_activity a join pg_roles r on r.oid = a.usesysid
    where a.datname = current_database() and a.pid <> pg_backend_pid()
        and a.xact_start < clock_timestamp() - interval '15 seconds'
        and not r.rolsuper and r.rolname <> current_user and pg_has_role(r.oid, 'usage')
        and has_function_privilege(r.oid, 'bb.append(text, text, text, bigint, bytea)', 'execute')
$$;

-- Note that a relay is alive now. AGENTS is JSON. Returns null, or 'log' or 'denied'.
create or replace function bb.beat(
    the_repo text, the_incarnation text, the_writer text, the_place bigint, the_agents text) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s' as $$
declare
    the_log integer;
begin
    if the_place is null or the_agents is null or octet_length(the_agents) > 65536 then
        raise invalid_parameter_value using message = 'the beat is malformed, or too long';
    end if;
    perform bb.end_stuck();
    select t.id into the_log from bb.log t where t.repo = the_repo and t.incarnation = the_incarnation;
    if not found then
        return 'log';
    end if;
    if not bb.may_use(the_log, the_writer) then
        return 'denied';
    end if;
    update bb.beat b set role = session_user, place = the_place, agents = the_agents, at = clock_timestamp()
        where b.log = the_log and b.writer = the_writer;
    if not found then
        delete from bb.beat b where b.log = the_log and b.at < clock_timestamp() - interval '1 day';
        insert into bb.beat (log, writer, role, place, agents, at)
            values (the_log, the_writer, session_user, the_place, the_agents, clock_timestamp())
            on conflict do nothing;
    end if;
    return null;
end $$;

-- The beats of the last hour. AGE is in seconds, by the clock of the server. Every relay reads them all, and a role can
-- beat for many writers, so of one role there are at most 1000, and at most a MiB of agents.
create or replace function bb.alive(
    the_repo text, the_incarnation text,
    out role text, out writer text, out place bigint, out agents text, out age double precision)
returns setof record language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
    select b.role, b.writer, b.place, case when b.size <= 1048576 then b.agents else '{}' end,
        greatest(extract(epoch from clock_timestamp() - b.at), 0)::double precision
    from (
        select b.role, b.writer, b.place, b.agents, b.at,
            row_number() over latest as number, sum(octet_length(b.agents)) over latest as size
        from bb.beat b join bb.log t on t.id = b.log
        where t.repo = the_repo and t.incarnation = the_incarnation and b.at > clock_timestamp() - interval '1 hour'
        window latest as (partition by b.role order by b.at desc)
    ) b
    where b.number <= 1000
    order by b.at desc limit 5000
$$;

-- PUBLIC may execute new functions unless that right is revoked. The internal functions are for the owner only.
revoke all on schema bb from public;
revoke all on all tables in schema bb from public;
revoke all on all functions in schema bb from public;
