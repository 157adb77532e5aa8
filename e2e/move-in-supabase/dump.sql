--
-- PostgreSQL database dump
--

\restrict F3xAheRLCv2cgaoO7qu6LrrX32ktBYfR9HeBbw1kx4uvHcmS9pjhLsB8UBgvsHd

-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: auth; Type: SCHEMA; Schema: -; Owner: postgres
--

CREATE SCHEMA auth;


ALTER SCHEMA auth OWNER TO postgres;

--
-- Name: public; Type: SCHEMA; Schema: -; Owner: pg_database_owner
--

CREATE SCHEMA public;


ALTER SCHEMA public OWNER TO pg_database_owner;

--
-- Name: SCHEMA public; Type: COMMENT; Schema: -; Owner: pg_database_owner
--

COMMENT ON SCHEMA public IS 'standard public schema';


--
-- Name: storage; Type: SCHEMA; Schema: -; Owner: postgres
--

CREATE SCHEMA storage;


ALTER SCHEMA storage OWNER TO postgres;

--
-- Name: factor_type; Type: TYPE; Schema: auth; Owner: postgres
--

CREATE TYPE auth.factor_type AS ENUM (
    'totp',
    'webauthn',
    'phone'
);


ALTER TYPE auth.factor_type OWNER TO postgres;

--
-- Name: post_status; Type: TYPE; Schema: public; Owner: postgres
--

CREATE TYPE public.post_status AS ENUM (
    'draft',
    'open',
    'it''s closed'
);


ALTER TYPE public.post_status OWNER TO postgres;

--
-- Name: jwt(); Type: FUNCTION; Schema: auth; Owner: postgres
--

CREATE FUNCTION auth.jwt() RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$ select nullif(current_setting('request.jwt.claims', true), '')::jsonb; $$;


ALTER FUNCTION auth.jwt() OWNER TO postgres;

--
-- Name: role(); Type: FUNCTION; Schema: auth; Owner: postgres
--

CREATE FUNCTION auth.role() RETURNS text
    LANGUAGE sql STABLE
    AS $$ select nullif(current_setting('request.jwt.claim.role', true), '')::text; $$;


ALTER FUNCTION auth.role() OWNER TO postgres;

--
-- Name: uid(); Type: FUNCTION; Schema: auth; Owner: postgres
--

CREATE FUNCTION auth.uid() RETURNS uuid
    LANGUAGE sql STABLE
    AS $$ select nullif(current_setting('request.jwt.claim.sub', true), '')::uuid; $$;


ALTER FUNCTION auth.uid() OWNER TO postgres;

--
-- Name: handle_new_user(); Type: FUNCTION; Schema: public; Owner: postgres
--

CREATE FUNCTION public.handle_new_user() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    AS $$
begin
  -- a comment; with a semicolon
  insert into public.profiles (id, username) values (new.id, 'user;' || left(new.id::text, 8));
  return new;
end;
$$;


ALTER FUNCTION public.handle_new_user() OWNER TO postgres;

--
-- Name: is_admin(); Type: FUNCTION; Schema: public; Owner: postgres
--

CREATE FUNCTION public.is_admin() RETURNS boolean
    LANGUAGE sql STABLE
    AS $_$ select (auth.jwt() ->> 'role') = 'admin' or '$$;' = 'x' $_$;


ALTER FUNCTION public.is_admin() OWNER TO postgres;

--
-- Name: foldername(text); Type: FUNCTION; Schema: storage; Owner: postgres
--

CREATE FUNCTION storage.foldername(name text) RETURNS text[]
    LANGUAGE plpgsql
    AS $$ begin return (string_to_array(name, '/'))[1:1]; end $$;


ALTER FUNCTION storage.foldername(name text) OWNER TO postgres;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: identities; Type: TABLE; Schema: auth; Owner: postgres
--

CREATE TABLE auth.identities (
    provider_id text NOT NULL,
    user_id uuid NOT NULL,
    identity_data jsonb NOT NULL,
    provider text NOT NULL,
    last_sign_in_at timestamp with time zone,
    created_at timestamp with time zone,
    updated_at timestamp with time zone,
    email text GENERATED ALWAYS AS (lower((identity_data ->> 'email'::text))) STORED,
    id uuid DEFAULT gen_random_uuid() NOT NULL
);


ALTER TABLE auth.identities OWNER TO postgres;

--
-- Name: mfa_factors; Type: TABLE; Schema: auth; Owner: postgres
--

CREATE TABLE auth.mfa_factors (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    factor_type auth.factor_type NOT NULL,
    secret text
);


ALTER TABLE auth.mfa_factors OWNER TO postgres;

--
-- Name: sessions; Type: TABLE; Schema: auth; Owner: postgres
--

CREATE TABLE auth.sessions (
    id uuid NOT NULL,
    user_id uuid NOT NULL
);


ALTER TABLE auth.sessions OWNER TO postgres;

--
-- Name: users; Type: TABLE; Schema: auth; Owner: postgres
--

CREATE TABLE auth.users (
    instance_id uuid,
    id uuid NOT NULL,
    aud character varying(255),
    role character varying(255),
    email character varying(255),
    encrypted_password character varying(255),
    email_confirmed_at timestamp with time zone,
    invited_at timestamp with time zone,
    confirmation_token character varying(255),
    last_sign_in_at timestamp with time zone,
    raw_app_meta_data jsonb,
    raw_user_meta_data jsonb,
    is_super_admin boolean,
    created_at timestamp with time zone,
    updated_at timestamp with time zone,
    phone text DEFAULT NULL::character varying,
    phone_confirmed_at timestamp with time zone,
    confirmed_at timestamp with time zone GENERATED ALWAYS AS (LEAST(email_confirmed_at, phone_confirmed_at)) STORED,
    banned_until timestamp with time zone,
    is_sso_user boolean DEFAULT false NOT NULL,
    deleted_at timestamp with time zone,
    is_anonymous boolean DEFAULT false NOT NULL
);


ALTER TABLE auth.users OWNER TO postgres;

--
-- Name: comments; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.comments (
    id integer NOT NULL,
    post_id uuid NOT NULL,
    author_id uuid NOT NULL,
    body text NOT NULL,
    hidden boolean,
    level integer
);


ALTER TABLE public.comments OWNER TO postgres;

--
-- Name: comments_id_seq; Type: SEQUENCE; Schema: public; Owner: postgres
--

CREATE SEQUENCE public.comments_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE public.comments_id_seq OWNER TO postgres;

--
-- Name: comments_id_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: postgres
--

ALTER SEQUENCE public.comments_id_seq OWNED BY public.comments.id;


--
-- Name: events; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.events (
    at timestamp with time zone,
    what text
);


ALTER TABLE public.events OWNER TO postgres;

--
-- Name: members; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.members (
    team_id bigint NOT NULL,
    user_id uuid NOT NULL,
    label text DEFAULT 'member'::text
);


ALTER TABLE public.members OWNER TO postgres;

--
-- Name: notes; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.notes (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    owner_ref uuid,
    body text,
    created_at timestamp with time zone DEFAULT now()
);


ALTER TABLE public.notes OWNER TO postgres;

--
-- Name: posts; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.posts (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    title character varying(200) NOT NULL,
    slug text,
    body text,
    status public.post_status DEFAULT 'draft'::public.post_status NOT NULL,
    meta jsonb DEFAULT '{}'::jsonb,
    tags text[] DEFAULT '{}'::text[],
    scores integer[],
    notes text[],
    author_id uuid DEFAULT auth.uid() NOT NULL,
    editor_id uuid,
    team_id bigint,
    parent_id uuid,
    views integer DEFAULT 0 NOT NULL,
    big bigint,
    rating numeric(30,10),
    ratio double precision DEFAULT 0.5,
    published boolean DEFAULT false NOT NULL,
    published_at timestamp with time zone,
    due date,
    local timestamp without time zone,
    number integer NOT NULL,
    raw bytea,
    token uuid DEFAULT gen_random_uuid(),
    span interval,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now(),
    search tsvector GENERATED ALWAYS AS (to_tsvector('english'::regconfig, COALESCE(body, ''::text))) STORED
);


ALTER TABLE public.posts OWNER TO postgres;

--
-- Name: open_posts; Type: VIEW; Schema: public; Owner: postgres
--

CREATE VIEW public.open_posts AS
 SELECT posts.id,
    posts.title
   FROM public.posts
  WHERE (posts.status = 'open'::public.post_status);


ALTER TABLE public.open_posts OWNER TO postgres;

--
-- Name: posts_number_seq; Type: SEQUENCE; Schema: public; Owner: postgres
--

CREATE SEQUENCE public.posts_number_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;


ALTER TABLE public.posts_number_seq OWNER TO postgres;

--
-- Name: posts_number_seq; Type: SEQUENCE OWNED BY; Schema: public; Owner: postgres
--

ALTER SEQUENCE public.posts_number_seq OWNED BY public.posts.number;


--
-- Name: profiles; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.profiles (
    id uuid NOT NULL,
    username extensions.citext NOT NULL,
    website text,
    avatar_url text,
    updated_at timestamp with time zone,
    CONSTRAINT username_length CHECK ((char_length((username)::text) >= 2))
);


ALTER TABLE public.profiles OWNER TO postgres;

--
-- Name: settings; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.settings (
    key text NOT NULL,
    value json,
    is_secret boolean
);


ALTER TABLE public.settings OWNER TO postgres;

--
-- Name: teams; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.teams (
    id bigint NOT NULL,
    name text NOT NULL,
    "Founded On" date,
    role text
);


ALTER TABLE public.teams OWNER TO postgres;

--
-- Name: teams_id_seq; Type: SEQUENCE; Schema: public; Owner: postgres
--

ALTER TABLE public.teams ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.teams_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);


--
-- Name: tips; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.tips (
    id integer NOT NULL,
    body text
);


ALTER TABLE public.tips OWNER TO postgres;

--
-- Name: buckets; Type: TABLE; Schema: storage; Owner: postgres
--

CREATE TABLE storage.buckets (
    id text NOT NULL,
    name text NOT NULL,
    owner uuid,
    created_at timestamp with time zone DEFAULT now(),
    updated_at timestamp with time zone DEFAULT now(),
    public boolean DEFAULT false,
    file_size_limit bigint,
    allowed_mime_types text[],
    owner_id text
);


ALTER TABLE storage.buckets OWNER TO postgres;

--
-- Name: objects; Type: TABLE; Schema: storage; Owner: postgres
--

CREATE TABLE storage.objects (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    bucket_id text,
    name text,
    owner uuid,
    created_at timestamp with time zone DEFAULT now(),
    updated_at timestamp with time zone DEFAULT now(),
    last_accessed_at timestamp with time zone DEFAULT now(),
    metadata jsonb,
    path_tokens text[] GENERATED ALWAYS AS (string_to_array(name, '/'::text)) STORED,
    version text,
    owner_id text,
    user_metadata jsonb
);


ALTER TABLE storage.objects OWNER TO postgres;

--
-- Name: comments id; Type: DEFAULT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.comments ALTER COLUMN id SET DEFAULT nextval('public.comments_id_seq'::regclass);


--
-- Name: posts number; Type: DEFAULT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.posts ALTER COLUMN number SET DEFAULT nextval('public.posts_number_seq'::regclass);


--
-- Data for Name: identities; Type: TABLE DATA; Schema: auth; Owner: postgres
--

COPY auth.identities (provider_id, user_id, identity_data, provider, last_sign_in_at, created_at, updated_at, id) FROM stdin;
a0000000-0000-4000-8000-000000000001	a0000000-0000-4000-8000-000000000001	{"sub": "a0000000-0000-4000-8000-000000000001", "email": "ada@harbour.example"}	email	\N	\N	\N	11111111-0000-4000-8000-000000000001
583231	a0000000-0000-4000-8000-000000000001	{"sub": "583231", "email": "ada@harbour.example"}	github	\N	\N	\N	11111111-0000-4000-8000-000000000002
1098765	f0000000-0000-4000-8000-000000000006	{"sub": "1098765"}	google	\N	\N	\N	11111111-0000-4000-8000-000000000003
xyz	b0000000-0000-4000-8000-000000000002	{"sub": "xyz"}	keycloak	\N	\N	\N	11111111-0000-4000-8000-000000000004
\.


--
-- Data for Name: mfa_factors; Type: TABLE DATA; Schema: auth; Owner: postgres
--

COPY auth.mfa_factors (id, user_id, factor_type, secret) FROM stdin;
22222222-0000-4000-8000-000000000001	a0000000-0000-4000-8000-000000000001	totp	SECRET
\.


--
-- Data for Name: sessions; Type: TABLE DATA; Schema: auth; Owner: postgres
--

COPY auth.sessions (id, user_id) FROM stdin;
\.


--
-- Data for Name: users; Type: TABLE DATA; Schema: auth; Owner: postgres
--

COPY auth.users (instance_id, id, aud, role, email, encrypted_password, email_confirmed_at, invited_at, confirmation_token, last_sign_in_at, raw_app_meta_data, raw_user_meta_data, is_super_admin, created_at, updated_at, phone, phone_confirmed_at, banned_until, is_sso_user, deleted_at, is_anonymous) FROM stdin;
\N	a0000000-0000-4000-8000-000000000001	authenticated	authenticated	ada@harbour.example	$2a$10$BIjOuwTUINsxkkJXWjx1huDE8M7dyRMShQNbsK3EqzfX8ZF8w6wqC	2024-01-02 03:04:05.678901+00	\N	\N	\N	{"provider": "email", "providers": ["email", "github"]}	{"name": "Ada \\"L\\" Å", "avatar_url": "https://abc.supabase.co/storage/v1/object/public/avatars/ada/me%20%231.png"}	\N	2024-01-01 00:00:00+00	2024-02-01 00:00:00.5+00	\N	\N	\N	f	\N	f
\N	b0000000-0000-4000-8000-000000000002	authenticated	authenticated	bo@harbour.example	$2a$10$BIjOuwTUINsxkkJXWjx1huDE8M7dyRMShQNbsK3EqzfX8ZF8w6wqC	\N	\N	\N	\N	{"provider": "email", "providers": ["email"]}	{}	\N	2024-01-03 00:00:00+00	2024-01-03 00:00:00+00	4912345	\N	\N	f	\N	f
\N	c0000000-0000-4000-8000-000000000003	authenticated	authenticated	cem@harbour.example	$2a$10$BIjOuwTUINsxkkJXWjx1huDE8M7dyRMShQNbsK3EqzfX8ZF8w6wqC	2024-01-02 00:00:00+00	\N	\N	\N	{}	{}	\N	2024-01-04 00:00:00+00	\N	\N	\N	2099-01-01 00:00:00+00	f	\N	f
\N	d0000000-0000-4000-8000-000000000004	authenticated	authenticated	dora@harbour.example	$2a$10$BIjOuwTUINsxkkJXWjx1huDE8M7dyRMShQNbsK3EqzfX8ZF8w6wqC	2024-01-02 00:00:00+00	\N	\N	\N	{}	{}	\N	2024-01-05 00:00:00+00	\N	\N	\N	\N	f	2024-05-01 00:00:00+00	f
\N	e0000000-0000-4000-8000-000000000005	authenticated	authenticated	\N		\N	\N	\N	\N	{}	{}	\N	2024-01-06 00:00:00+00	\N	\N	\N	\N	f	\N	t
\N	f0000000-0000-4000-8000-000000000006	authenticated	authenticated	finn@harbour.example	$2a$10$BIjOuwTUINsxkkJXWjx1huDE8M7dyRMShQNbsK3EqzfX8ZF8w6wqC	2024-01-02 00:00:00+00	\N	\N	\N	{"provider": "google"}	\N	\N	2024-01-07 00:00:00+00	2024-01-07 00:00:00+00	\N	\N	2024-02-01 00:00:00+00	f	\N	f
\.


--
-- Data for Name: comments; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.comments (id, post_id, author_id, body, hidden, level) FROM stdin;
1	10000000-0000-4000-8000-000000000001	a0000000-0000-4000-8000-000000000001	one	f	1
2	10000000-0000-4000-8000-000000000001	b0000000-0000-4000-8000-000000000002	two	\N	3
3	10000000-0000-4000-8000-000000000002	b0000000-0000-4000-8000-000000000002	three	t	\N
4	10000000-0000-4000-8000-000000000002	b0000000-0000-4000-8000-000000000002	four	t	2
\.


--
-- Data for Name: events; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.events (at, what) FROM stdin;
2024-06-01 00:00:00+00	no key
\.


--
-- Data for Name: members; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.members (team_id, user_id, label) FROM stdin;
1	a0000000-0000-4000-8000-000000000001	lead
1	b0000000-0000-4000-8000-000000000002	member
2	b0000000-0000-4000-8000-000000000002	\N
\.


--
-- Data for Name: notes; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.notes (id, owner_ref, body, created_at) FROM stdin;
30000000-0000-4000-8000-000000000001	a0000000-0000-4000-8000-000000000001	mine	2024-06-01 00:00:00+00
30000000-0000-4000-8000-000000000002	\N	nobody's	2024-06-01 00:00:00+00
30000000-0000-4000-8000-000000000003	b0000000-0000-4000-8000-000000000002	secret	2024-06-01 00:00:00+00
\.


--
-- Data for Name: posts; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.posts (id, title, slug, body, status, meta, tags, scores, notes, author_id, editor_id, team_id, parent_id, views, big, rating, ratio, published, published_at, due, local, number, raw, token, span, created_at, updated_at) FROM stdin;
10000000-0000-4000-8000-000000000001	First	first	tab\there\nline\r\\back\\N \b\fv end	open	{"n": 1.5, "by": "a0000000-0000-4000-8000-000000000001", "big": 12345678901234567890, "deep": [{"post": "10000000-0000-4000-8000-000000000002"}]}	{news,"two words","a \\"q\\" \\\\ b","NULL"}	{1,2}	{x,x,NULL}	a0000000-0000-4000-8000-000000000001	b0000000-0000-4000-8000-000000000002	1	\N	3	9007199254740993	1.2345678901	1.5	t	2024-05-01 10:00:00+00	2024-05-31	2024-05-01 12:00:00	1	\\xdeadbeef	a0000000-0000-4000-8000-000000000001	1 day 02:00:00	2024-04-01 00:00:00.000001+00	2024-04-02 00:00:00+00
10000000-0000-4000-8000-000000000002	Second	\N	\N	draft	\N	{}	\N	\N	b0000000-0000-4000-8000-000000000002	\N	\N	10000000-0000-4000-8000-000000000001	200	1	\N	\N	f	infinity	\N	\N	2	\N	\N	\N	2024-04-03 00:00:00+00	\N
10000000-0000-4000-8000-000000000003	Ü ⚓ \\N	third		it's closed	null	\N	{}	{}	a0000000-0000-4000-8000-000000000001	a0000000-0000-4000-8000-000000000001	2	10000000-0000-4000-8000-000000000001	0	\N	100.0000000000	NaN	t	\N	\N	\N	3	\N	\N	\N	2024-04-04 00:00:00+00	2024-04-04 00:00:00+00
10000000-0000-4000-8000-000000000004	Fourth	fourth	\\.	open	[]	{}	\N	\N	b0000000-0000-4000-8000-000000000002	\N	1	\N	1	\N	\N	\N	f	\N	\N	\N	4	\N	\N	\N	2024-04-05 00:00:00+00	2024-04-05 00:00:00+00
\.


--
-- Data for Name: profiles; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.profiles (id, username, website, avatar_url, updated_at) FROM stdin;
a0000000-0000-4000-8000-000000000001	Ada	https://ada.example	https://abc.supabase.co/storage/v1/object/public/avatars/ada/me%20%231.png	2024-03-01 10:00:00.123456+00
b0000000-0000-4000-8000-000000000002	bo	\N	https://abc.supabase.co/storage/v1/object/public/avatars/gone.png	\N
f0000000-0000-4000-8000-000000000006	finn		f0000000-0000-4000-8000-000000000006	\N
\.


--
-- Data for Name: settings; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.settings (key, value, is_secret) FROM stdin;
theme/x	{"dark": true}	f
key	"abc"	t
odd	\N	\N
\.


--
-- Data for Name: teams; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.teams (id, name, "Founded On", role) FROM stdin;
1	Harbour	1999-12-31	x
2	Quay	\N	\N
\.


--
-- Data for Name: tips; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.tips (id, body) FROM stdin;
1	Mind the tide
\.


--
-- Data for Name: buckets; Type: TABLE DATA; Schema: storage; Owner: postgres
--

COPY storage.buckets (id, name, owner, created_at, updated_at, public, file_size_limit, allowed_mime_types, owner_id) FROM stdin;
avatars	avatars	\N	2026-11-30 12:44:13.289441+00	2026-11-30 12:44:13.289441+00	t	\N	\N	\N
papers	papers	\N	2026-11-30 12:44:13.289441+00	2026-11-30 12:44:13.289441+00	f	\N	\N	\N
\.


--
-- Data for Name: objects; Type: TABLE DATA; Schema: storage; Owner: postgres
--

COPY storage.objects (id, bucket_id, name, owner, created_at, updated_at, last_accessed_at, metadata, version, owner_id, user_metadata) FROM stdin;
40000000-0000-4000-8000-000000000001	avatars	ada/me #1.png	a0000000-0000-4000-8000-000000000001	2024-07-01 00:00:00+00	2024-07-01 00:00:00+00	2026-11-30 12:44:13.291648+00	{"size": 4, "mimetype": "image/png"}	\N	a0000000-0000-4000-8000-000000000001	\N
40000000-0000-4000-8000-000000000002	papers	b0/plan.txt	b0000000-0000-4000-8000-000000000002	2024-07-02 00:00:00+00	2024-07-02 00:00:00+00	2026-11-30 12:44:13.291648+00	{}	\N	b0000000-0000-4000-8000-000000000002	\N
40000000-0000-4000-8000-000000000003	papers	b0/.emptyFolderPlaceholder	\N	2024-07-02 00:00:00+00	2024-07-02 00:00:00+00	2026-11-30 12:44:13.291648+00	{}	\N	\N	\N
40000000-0000-4000-8000-000000000004	papers	large.bin	\N	2024-07-03 00:00:00+00	2024-07-03 00:00:00+00	2026-11-30 12:44:13.291648+00	{}	\N	\N	\N
40000000-0000-4000-8000-000000000005	papers	missing.txt	a0000000-0000-4000-8000-000000000001	2024-07-04 00:00:00+00	2024-07-04 00:00:00+00	2026-11-30 12:44:13.291648+00	{}	\N	a0000000-0000-4000-8000-000000000001	\N
\.


--
-- Name: comments_id_seq; Type: SEQUENCE SET; Schema: public; Owner: postgres
--

SELECT pg_catalog.setval('public.comments_id_seq', 4, true);


--
-- Name: posts_number_seq; Type: SEQUENCE SET; Schema: public; Owner: postgres
--

SELECT pg_catalog.setval('public.posts_number_seq', 4, true);


--
-- Name: teams_id_seq; Type: SEQUENCE SET; Schema: public; Owner: postgres
--

SELECT pg_catalog.setval('public.teams_id_seq', 2, true);


--
-- Name: identities identities_pkey; Type: CONSTRAINT; Schema: auth; Owner: postgres
--

ALTER TABLE ONLY auth.identities
    ADD CONSTRAINT identities_pkey PRIMARY KEY (id);


--
-- Name: identities identities_provider_id_provider_key; Type: CONSTRAINT; Schema: auth; Owner: postgres
--

ALTER TABLE ONLY auth.identities
    ADD CONSTRAINT identities_provider_id_provider_key UNIQUE (provider_id, provider);


--
-- Name: mfa_factors mfa_factors_pkey; Type: CONSTRAINT; Schema: auth; Owner: postgres
--

ALTER TABLE ONLY auth.mfa_factors
    ADD CONSTRAINT mfa_factors_pkey PRIMARY KEY (id);


--
-- Name: sessions sessions_pkey; Type: CONSTRAINT; Schema: auth; Owner: postgres
--

ALTER TABLE ONLY auth.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);


--
-- Name: users users_phone_key; Type: CONSTRAINT; Schema: auth; Owner: postgres
--

ALTER TABLE ONLY auth.users
    ADD CONSTRAINT users_phone_key UNIQUE (phone);


--
-- Name: users users_pkey; Type: CONSTRAINT; Schema: auth; Owner: postgres
--

ALTER TABLE ONLY auth.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);


--
-- Name: comments comments_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.comments
    ADD CONSTRAINT comments_pkey PRIMARY KEY (id);


--
-- Name: members members_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_pkey PRIMARY KEY (team_id, user_id);


--
-- Name: notes notes_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.notes
    ADD CONSTRAINT notes_pkey PRIMARY KEY (id);


--
-- Name: posts posts_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.posts
    ADD CONSTRAINT posts_pkey PRIMARY KEY (id);


--
-- Name: posts posts_slug_key; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.posts
    ADD CONSTRAINT posts_slug_key UNIQUE (slug);


--
-- Name: profiles profiles_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.profiles
    ADD CONSTRAINT profiles_pkey PRIMARY KEY (id);


--
-- Name: profiles profiles_username_key; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.profiles
    ADD CONSTRAINT profiles_username_key UNIQUE (username);


--
-- Name: settings settings_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.settings
    ADD CONSTRAINT settings_pkey PRIMARY KEY (key);


--
-- Name: teams teams_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.teams
    ADD CONSTRAINT teams_pkey PRIMARY KEY (id);


--
-- Name: tips tips_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.tips
    ADD CONSTRAINT tips_pkey PRIMARY KEY (id);


--
-- Name: buckets buckets_pkey; Type: CONSTRAINT; Schema: storage; Owner: postgres
--

ALTER TABLE ONLY storage.buckets
    ADD CONSTRAINT buckets_pkey PRIMARY KEY (id);


--
-- Name: objects objects_pkey; Type: CONSTRAINT; Schema: storage; Owner: postgres
--

ALTER TABLE ONLY storage.objects
    ADD CONSTRAINT objects_pkey PRIMARY KEY (id);


--
-- Name: users_email_partial_key; Type: INDEX; Schema: auth; Owner: postgres
--

CREATE UNIQUE INDEX users_email_partial_key ON auth.users USING btree (email) WHERE (is_sso_user = false);


--
-- Name: posts_author; Type: INDEX; Schema: public; Owner: postgres
--

CREATE INDEX posts_author ON public.posts USING btree (author_id);


--
-- Name: posts_lower; Type: INDEX; Schema: public; Owner: postgres
--

CREATE UNIQUE INDEX posts_lower ON public.posts USING btree (lower((title)::text));


--
-- Name: posts_open; Type: INDEX; Schema: public; Owner: postgres
--

CREATE INDEX posts_open ON public.posts USING btree (title) WHERE (status = 'open'::public.post_status);


--
-- Name: posts_search; Type: INDEX; Schema: public; Owner: postgres
--

CREATE INDEX posts_search ON public.posts USING gin (search);


--
-- Name: posts_status_created; Type: INDEX; Schema: public; Owner: postgres
--

CREATE INDEX posts_status_created ON public.posts USING btree (status, created_at DESC);


--
-- Name: bucketid_objname; Type: INDEX; Schema: storage; Owner: postgres
--

CREATE UNIQUE INDEX bucketid_objname ON storage.objects USING btree (bucket_id, name);


--
-- Name: users on_auth_user_created; Type: TRIGGER; Schema: auth; Owner: postgres
--

CREATE TRIGGER on_auth_user_created AFTER INSERT ON auth.users FOR EACH ROW EXECUTE FUNCTION public.handle_new_user();

ALTER TABLE auth.users DISABLE TRIGGER on_auth_user_created;


--
-- Name: identities identities_user_id_fkey; Type: FK CONSTRAINT; Schema: auth; Owner: postgres
--

ALTER TABLE ONLY auth.identities
    ADD CONSTRAINT identities_user_id_fkey FOREIGN KEY (user_id) REFERENCES auth.users(id) ON DELETE CASCADE;


--
-- Name: mfa_factors mfa_factors_user_id_fkey; Type: FK CONSTRAINT; Schema: auth; Owner: postgres
--

ALTER TABLE ONLY auth.mfa_factors
    ADD CONSTRAINT mfa_factors_user_id_fkey FOREIGN KEY (user_id) REFERENCES auth.users(id) ON DELETE CASCADE;


--
-- Name: sessions sessions_user_id_fkey; Type: FK CONSTRAINT; Schema: auth; Owner: postgres
--

ALTER TABLE ONLY auth.sessions
    ADD CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES auth.users(id) ON DELETE CASCADE;


--
-- Name: comments comments_author_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.comments
    ADD CONSTRAINT comments_author_id_fkey FOREIGN KEY (author_id) REFERENCES public.profiles(id) ON DELETE CASCADE;


--
-- Name: comments comments_post_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.comments
    ADD CONSTRAINT comments_post_id_fkey FOREIGN KEY (post_id) REFERENCES public.posts(id) ON DELETE CASCADE;


--
-- Name: members members_team_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_team_id_fkey FOREIGN KEY (team_id) REFERENCES public.teams(id) ON DELETE CASCADE;


--
-- Name: members members_user_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.members
    ADD CONSTRAINT members_user_id_fkey FOREIGN KEY (user_id) REFERENCES auth.users(id) ON DELETE CASCADE;


--
-- Name: posts posts_author_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.posts
    ADD CONSTRAINT posts_author_id_fkey FOREIGN KEY (author_id) REFERENCES auth.users(id) ON DELETE CASCADE;


--
-- Name: posts posts_editor_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.posts
    ADD CONSTRAINT posts_editor_id_fkey FOREIGN KEY (editor_id) REFERENCES public.profiles(id) ON DELETE SET NULL;


--
-- Name: posts posts_parent_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.posts
    ADD CONSTRAINT posts_parent_id_fkey FOREIGN KEY (parent_id) REFERENCES public.posts(id) ON DELETE SET NULL;


--
-- Name: posts posts_team_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.posts
    ADD CONSTRAINT posts_team_id_fkey FOREIGN KEY (team_id) REFERENCES public.teams(id);


--
-- Name: profiles profiles_id_fkey; Type: FK CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.profiles
    ADD CONSTRAINT profiles_id_fkey FOREIGN KEY (id) REFERENCES auth.users(id) ON DELETE CASCADE;


--
-- Name: objects objects_bucket_id_fkey; Type: FK CONSTRAINT; Schema: storage; Owner: postgres
--

ALTER TABLE ONLY storage.objects
    ADD CONSTRAINT objects_bucket_id_fkey FOREIGN KEY (bucket_id) REFERENCES storage.buckets(id);


--
-- Name: users; Type: ROW SECURITY; Schema: auth; Owner: postgres
--

ALTER TABLE auth.users ENABLE ROW LEVEL SECURITY;

--
-- Name: settings Admins; Type: POLICY; Schema: public; Owner: postgres
--

CREATE POLICY "Admins" ON public.settings USING (public.is_admin());


--
-- Name: notes All own; Type: POLICY; Schema: public; Owner: postgres
--

CREATE POLICY "All own" ON public.notes TO authenticated USING ((owner_ref = auth.uid()));


--
-- Name: tips All tips; Type: POLICY; Schema: public; Owner: postgres
--

CREATE POLICY "All tips" ON public.tips USING (true);


--
-- Name: comments Change comments; Type: POLICY; Schema: public; Owner: postgres
--

CREATE POLICY "Change comments" ON public.comments FOR UPDATE USING ((auth.uid() = author_id)) WITH CHECK ((level < 3));


--
-- Name: posts Delete drafts; Type: POLICY; Schema: public; Owner: postgres
--

CREATE POLICY "Delete drafts" ON public.posts FOR DELETE USING (((author_id = auth.uid()) AND (status = ANY (ARRAY['draft'::public.post_status, 'open'::public.post_status]))));


--
-- Name: posts Insert own; Type: POLICY; Schema: public; Owner: postgres
--

CREATE POLICY "Insert own" ON public.posts FOR INSERT TO authenticated WITH CHECK ((author_id = auth.uid()));


--
-- Name: members Members; Type: POLICY; Schema: public; Owner: postgres
--

CREATE POLICY "Members" ON public.members FOR SELECT TO authenticated USING (true);


--
-- Name: notes No secrets; Type: POLICY; Schema: public; Owner: postgres
--

CREATE POLICY "No secrets" ON public.notes AS RESTRICTIVE FOR DELETE USING ((body <> 'secret'::text));


--
-- Name: posts Open posts; Type: POLICY; Schema: public; Owner: postgres
--

CREATE POLICY "Open posts" ON public.posts FOR SELECT USING (((status = 'open'::public.post_status) AND (published OR (views > 100))));


--
-- Name: profiles Own insert; Type: POLICY; Schema: public; Owner: postgres
--

CREATE POLICY "Own insert" ON public.profiles FOR INSERT WITH CHECK ((auth.uid() = id));


--
-- Name: posts Own posts; Type: POLICY; Schema: public; Owner: postgres
--

CREATE POLICY "Own posts" ON public.posts FOR SELECT TO authenticated USING ((author_id = ( SELECT auth.uid() AS uid)));


--
-- Name: profiles Own update; with a semicolon; Type: POLICY; Schema: public; Owner: postgres
--

CREATE POLICY "Own update; with a semicolon" ON public.profiles FOR UPDATE USING ((( SELECT auth.uid() AS uid) = id));


--
-- Name: profiles Profiles are for everybody; Type: POLICY; Schema: public; Owner: postgres
--

CREATE POLICY "Profiles are for everybody" ON public.profiles FOR SELECT USING (true);


--
-- Name: comments Read comments; Type: POLICY; Schema: public; Owner: postgres
--

CREATE POLICY "Read comments" ON public.comments FOR SELECT USING (((auth.role() = 'authenticated'::text) AND (hidden IS NOT TRUE)));


--
-- Name: comments Read shown; Type: POLICY; Schema: public; Owner: postgres
--

CREATE POLICY "Read shown" ON public.comments FOR SELECT TO authenticated USING ((level <> 3));


--
-- Name: settings Service; Type: POLICY; Schema: public; Owner: postgres
--

CREATE POLICY "Service" ON public.settings TO service_role USING (true);


--
-- Name: settings Settings; Type: POLICY; Schema: public; Owner: postgres
--

CREATE POLICY "Settings" ON public.settings FOR SELECT TO anon, authenticated USING ((NOT is_secret));


--
-- Name: posts Team posts; Type: POLICY; Schema: public; Owner: postgres
--

CREATE POLICY "Team posts" ON public.posts FOR SELECT TO authenticated USING ((EXISTS ( SELECT 1
   FROM public.members m
  WHERE ((m.team_id = posts.team_id) AND (m.user_id = auth.uid())))));


--
-- Name: posts Update own; Type: POLICY; Schema: public; Owner: postgres
--

CREATE POLICY "Update own" ON public.posts FOR UPDATE TO authenticated USING ((author_id = auth.uid())) WITH CHECK ((author_id = auth.uid()));


--
-- Name: comments Write comments; Type: POLICY; Schema: public; Owner: postgres
--

CREATE POLICY "Write comments" ON public.comments FOR INSERT WITH CHECK ((auth.uid() = author_id));


--
-- Name: comments; Type: ROW SECURITY; Schema: public; Owner: postgres
--

ALTER TABLE public.comments ENABLE ROW LEVEL SECURITY;

--
-- Name: events; Type: ROW SECURITY; Schema: public; Owner: postgres
--

ALTER TABLE public.events ENABLE ROW LEVEL SECURITY;

--
-- Name: members; Type: ROW SECURITY; Schema: public; Owner: postgres
--

ALTER TABLE public.members ENABLE ROW LEVEL SECURITY;

--
-- Name: notes; Type: ROW SECURITY; Schema: public; Owner: postgres
--

ALTER TABLE public.notes ENABLE ROW LEVEL SECURITY;

--
-- Name: posts; Type: ROW SECURITY; Schema: public; Owner: postgres
--

ALTER TABLE public.posts ENABLE ROW LEVEL SECURITY;

--
-- Name: profiles; Type: ROW SECURITY; Schema: public; Owner: postgres
--

ALTER TABLE public.profiles ENABLE ROW LEVEL SECURITY;

--
-- Name: settings; Type: ROW SECURITY; Schema: public; Owner: postgres
--

ALTER TABLE public.settings ENABLE ROW LEVEL SECURITY;

--
-- Name: tips; Type: ROW SECURITY; Schema: public; Owner: postgres
--

ALTER TABLE public.tips ENABLE ROW LEVEL SECURITY;

--
-- Name: objects Avatars; Type: POLICY; Schema: storage; Owner: postgres
--

CREATE POLICY "Avatars" ON storage.objects FOR SELECT USING ((bucket_id = 'avatars'::text));


--
-- Name: objects Own files; Type: POLICY; Schema: storage; Owner: postgres
--

CREATE POLICY "Own files" ON storage.objects FOR SELECT TO authenticated USING ((owner = auth.uid()));


--
-- Name: objects Own folder; Type: POLICY; Schema: storage; Owner: postgres
--

CREATE POLICY "Own folder" ON storage.objects FOR INSERT TO authenticated WITH CHECK (((bucket_id = 'papers'::text) AND ((storage.foldername(name))[1] = (auth.uid())::text)));


--
-- Name: buckets; Type: ROW SECURITY; Schema: storage; Owner: postgres
--

ALTER TABLE storage.buckets ENABLE ROW LEVEL SECURITY;

--
-- Name: objects; Type: ROW SECURITY; Schema: storage; Owner: postgres
--

ALTER TABLE storage.objects ENABLE ROW LEVEL SECURITY;

--
-- Name: SCHEMA public; Type: ACL; Schema: -; Owner: pg_database_owner
--

GRANT USAGE ON SCHEMA public TO anon;
GRANT USAGE ON SCHEMA public TO authenticated;
GRANT USAGE ON SCHEMA public TO service_role;


--
-- Name: TABLE comments; Type: ACL; Schema: public; Owner: postgres
--

GRANT ALL ON TABLE public.comments TO anon;
GRANT ALL ON TABLE public.comments TO authenticated;
GRANT ALL ON TABLE public.comments TO service_role;


--
-- Name: TABLE events; Type: ACL; Schema: public; Owner: postgres
--

GRANT ALL ON TABLE public.events TO anon;
GRANT ALL ON TABLE public.events TO authenticated;
GRANT ALL ON TABLE public.events TO service_role;


--
-- Name: TABLE members; Type: ACL; Schema: public; Owner: postgres
--

GRANT ALL ON TABLE public.members TO anon;
GRANT ALL ON TABLE public.members TO authenticated;
GRANT ALL ON TABLE public.members TO service_role;


--
-- Name: TABLE notes; Type: ACL; Schema: public; Owner: postgres
--

GRANT ALL ON TABLE public.notes TO anon;
GRANT ALL ON TABLE public.notes TO authenticated;
GRANT ALL ON TABLE public.notes TO service_role;


--
-- Name: TABLE posts; Type: ACL; Schema: public; Owner: postgres
--

GRANT ALL ON TABLE public.posts TO anon;
GRANT ALL ON TABLE public.posts TO authenticated;
GRANT ALL ON TABLE public.posts TO service_role;


--
-- Name: TABLE open_posts; Type: ACL; Schema: public; Owner: postgres
--

GRANT ALL ON TABLE public.open_posts TO anon;
GRANT ALL ON TABLE public.open_posts TO authenticated;
GRANT ALL ON TABLE public.open_posts TO service_role;


--
-- Name: TABLE profiles; Type: ACL; Schema: public; Owner: postgres
--

GRANT ALL ON TABLE public.profiles TO anon;
GRANT ALL ON TABLE public.profiles TO authenticated;
GRANT ALL ON TABLE public.profiles TO service_role;


--
-- Name: TABLE settings; Type: ACL; Schema: public; Owner: postgres
--

GRANT ALL ON TABLE public.settings TO anon;
GRANT ALL ON TABLE public.settings TO authenticated;
GRANT ALL ON TABLE public.settings TO service_role;


--
-- Name: TABLE teams; Type: ACL; Schema: public; Owner: postgres
--

GRANT ALL ON TABLE public.teams TO anon;
GRANT ALL ON TABLE public.teams TO authenticated;
GRANT ALL ON TABLE public.teams TO service_role;


--
-- Name: TABLE tips; Type: ACL; Schema: public; Owner: postgres
--

GRANT SELECT,REFERENCES,TRIGGER,TRUNCATE ON TABLE public.tips TO anon;
GRANT SELECT,INSERT,REFERENCES,TRIGGER,TRUNCATE,UPDATE ON TABLE public.tips TO authenticated;
GRANT ALL ON TABLE public.tips TO service_role;


--
-- Name: TABLE buckets; Type: ACL; Schema: storage; Owner: postgres
--

GRANT ALL ON TABLE storage.buckets TO anon;
GRANT ALL ON TABLE storage.buckets TO authenticated;
GRANT ALL ON TABLE storage.buckets TO service_role;


--
-- Name: TABLE objects; Type: ACL; Schema: storage; Owner: postgres
--

GRANT ALL ON TABLE storage.objects TO anon;
GRANT ALL ON TABLE storage.objects TO authenticated;
GRANT ALL ON TABLE storage.objects TO service_role;


--
-- PostgreSQL database dump complete
--

\unrestrict F3xAheRLCv2cgaoO7qu6LrrX32ktBYfR9HeBbw1kx4uvHcmS9pjhLsB8UBgvsHd

