# frozen_string_literal: true

# The client of an application's backend, by docs/another_client.md. It needs no gem.

require "digest"
require "json"
require "net/http"
require "openssl"
require_relative "masked_bandit_outbox"

module MaskedBandit
  # The application made a mistake; the code says which.
  class Mistake < StandardError
    attr_reader :code

    def initialize(code)
      @code = code
      super
    end
  end

  NAME = /\A[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\z/
  Assigned = Struct.new(:arm, :payload, :ticket, :propensity, :again, :source, :why, :device, keyword_init: true)
  Reply = Struct.new(:status, :body, :retry_after)

  # The token with which a person comes, signed with a private key of Ed25519 in hexadecimal.
  def self.sign_person(private, study, unit, expires)
    key = OpenSSL::PKey.read(["302e020100300506032b657004220420#{private}"].pack("H*")) # RFC 8410
    name = Digest::SHA256.hexdigest(key.public_to_der[-32..])[0, 16]
    "#{name}.#{expires}.#{key.sign(nil, "maskedbandit-person-1 #{study} #{expires} #{unit}").unpack1('H*')}"
  end

  # A client of one study. Make one for a process, and close it.
  class Client
    # How many messages were refused for good, in this process, by the code.
    attr_reader :refused

    MOST_BYTES = 2**23
    TURNED_AWAY = %w[not_eligible other_study not_yet].freeze
    SECONDS = 30 # of a request that sends what waits

    def initialize(url:, key:, study:, fallback:, folder:, deadline: 0.2)
      @uri = URI.parse(url.chomp("/"))
      right = @uri.is_a?(URI::HTTP) && !@uri.userinfo && NAME.match?(study) && /\A[!-~]{1,512}\z/.match?(key)
      right && deadline.is_a?(Numeric) && deadline.positive? or raise Mistake, "invalid_value"
      @key, @study, @fallback, @deadline = key, study, fallback, deadline
      @outbox = Outbox.new(folder, url.chomp("/"), study)
      @lock, @changed, @mail, @hurry, @idle = Mutex.new, ConditionVariable.new, true, false, false
      @refused = Hash.new(0)
      @sender = Thread.new { send_all }
    end

    # The arm of a person, within the deadline, whatever the service does.
    def assign(unit, token = nil, attributes = nil)
      check_person(unit, attributes)
      body = { "unit" => unit, "token" => token, "attributes" => attributes }.reject { |_, said| said.nil? || said == {} }
      reply = ask("/v1/studies/#{@study}/assign", body.to_json)
      code = reply.status.between?(400, 499) ? code_of(reply.body) : ""
      raise Mistake, code if code != "" && ![409, 429].include?(reply.status)
      return fall_back(unit, code == "" ? "unreachable" : code) unless arm?(reply)

      given = reply.body
      keep(unit, given)
      Assigned.new(**%w[arm payload ticket propensity again device].to_h { |name| [name.to_sym, given[name]] },
                   source: "service", why: given["why"] || "")
    end

    # The person saw the arm.
    def expose(ticket)
      write(ticket, "expose")
    end

    # What became of the person.
    def report(ticket, value, event: "", metric: "")
      event.is_a?(String) && /\A[[:print:]]{0,128}\z/.match?(event) or raise Mistake, "personal_value"
      value.is_a?(Numeric) && value.to_f.finite? or raise Mistake, "personal_value"
      metric == "" || NAME.match?(metric) or raise Mistake, "invalid_value"
      raise Mistake, "outcome_stays_on_device" if ticket && @outbox.devices?

      write(ticket, "report", "event" => event, "metric" => metric, "value" => value)
    end

    # The person takes no part any more.
    def leave(ticket)
      write(ticket, "leave")
    end

    # Whether all is sent, after trying for so many seconds.
    def flush(timeout: 10)
      limit = now + timeout
      @lock.synchronize do
        @mail, @hurry, @idle = true, true, false
        @changed.broadcast
        @changed.wait(@lock, limit - now) while !@idle && now < limit
        @idle
      end
    end

    def close(timeout: 2)
      flush(timeout:)
      @sender.kill.join
    end

    private

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    def check_person(unit, attributes)
      unit.is_a?(String) && /\A[[:print:]]{1,256}\z/.match?(unit) or raise Mistake, "personal_value"
      right = (attributes || {}).all? do |name, said|
        NAME.match?(name) && (said == true || said == false || (said.is_a?(Numeric) && said.to_f.finite?) ||
          (said.is_a?(String) && said.length <= 256))
      end
      right && (attributes || {}).size <= 32 or raise Mistake, "personal_value"
    end

    # Two requests at most, which say the same.
    def ask(path, body)
      limit, replies, running = now + @deadline, Queue.new, []
      start = -> { running << Thread.new { replies << post(path, body, limit - now) } }
      start.call
      first = wait_for(replies, now + (@deadline / 2.0))
      return first if first && (settled?(first) || first.retry_after.positive?)

      start.call
      best = first || Reply.new(0, nil, 0)
      (first ? 1 : 2).times do
        found = wait_for(replies, limit) or break
        best = found if found.status > best.status || settled?(found)
        break if settled?(found)
      end
      best
    ensure
      running.each(&:kill)
    end

    def wait_for(replies, limit)
      sleep 0.002 while replies.empty? && now < limit
      replies.pop(true) unless replies.empty?
    end

    def settled?(reply)
      arm?(reply) || reply.status.between?(400, 499)
    end

    def arm?(reply)
      given = reply.body
      return false unless reply.status == 200 && given.is_a?(Hash) && given["study"] == @study

      ticket, chance = given.values_at("ticket", "propensity")
      given["arm"].is_a?(String) && given["arm"] != "" && [true, false].include?(given["again"]) &&
        (ticket.nil? || TICKET.match?(ticket)) && chance.is_a?(String) &&
        %r{\A\d{1,20}(/\d{1,20})?\z}.match?(chance) && (chance.split("/")[1] || "1").to_i.positive? &&
        Rational(chance).positive? && Rational(chance) <= 1
    end

    def keep(unit, given)
      @outbox.keep_on_devices if given["device"]
      name = given["ticket"] ? unit : TURNED_AWAY.include?(given["why"]) ? :default : :everybody
      @outbox.keep_arm(name, given.slice("arm", "payload", "ticket"))
    end

    def fall_back(unit, why)
      had = @outbox.find_arm(unit) || @outbox.find_arm(:default) || @outbox.find_arm(:everybody) || { "arm" => @fallback }
      Assigned.new(arm: had["arm"], payload: had["payload"], again: false, source: "fallback", why:)
    end

    def write(ticket, kind, more = {})
      return if ticket.nil?

      ticket.is_a?(String) && TICKET.match?(ticket) or raise Mistake, "personal_value"
      kind == "leave" ? @outbox.put_leaving(ticket) : @outbox.put({ "kind" => kind, "ticket" => ticket, **more })
      @lock.synchronize do
        @mail, @idle = true, false
        @changed.broadcast
      end
    end

    # One request: the reply, or status 0.
    def post(path, body, seconds)
      http = Net::HTTP.new(@uri.host, @uri.port, nil) # no proxy of the environment
      http.use_ssl = @uri.scheme == "https"
      http.open_timeout = http.read_timeout = http.write_timeout = [seconds, 0.001].max
      http.max_retries = 0
      headers = { "Content-Type" => "application/json", "Authorization" => "Bearer #{@key}" }
      found = http.start { http.post(@uri.path + path, body, headers) }
      said = found.body.to_s
      Reply.new(found.code.to_i, said.bytesize <= MOST_BYTES ? JSON.parse(said) : nil, pause_of(found["Retry-After"]))
    rescue JSON::ParserError
      Reply.new(found.code.to_i, nil, pause_of(found["Retry-After"]))
    rescue SystemCallError, IOError, SocketError, Timeout::Error, Net::ProtocolError, OpenSSL::SSL::SSLError
      Reply.new(0, nil, 0)
    end

    def pause_of(header)
      header.nil? ? 0 : /\A\d{1,9}\z/.match?(header) ? [header.to_i, 3600].min : 1
    end

    def code_of(problem)
      code = problem.is_a?(Hash) ? problem["code"] : nil
      code.is_a?(String) && /\A[a-z_]{1,64}\z/.match?(code) ? code : ""
    end

    # For ever: what waits is sent, with pauses while the service is away.
    def send_all
      failures = 0
      loop do
        @lock.synchronize do
          @changed.wait(@lock) until @mail || failures.positive?
          @mail = false
        end
        asked = @outbox.take_turn { send_what_waits }
        failures = asked ? failures + 1 : 0
        @lock.synchronize do
          @idle = !asked && !@mail
          @changed.broadcast
          pause(failures, asked) if asked
        end
      end
    end

    def pause(failures, asked)
      limit = now + asked + ([0.25 * (2**[failures - 1, 30].min), 60].min * (1 + rand) / 2)
      @changed.wait(@lock, limit - now) while !@hurry && now < limit
      @hurry = false
    end

    # Nil if nothing waits any more, or how many seconds the service asks to be left alone.
    def send_what_waits
      together = 200
      until (messages = @outbox.oldest(together)).empty?
        %w[expose report].each do |kind|
          batch = messages.select { |message| message["kind"] == kind }
          next if batch.empty?

          bodies = batch.map { |message| @outbox.body_of(message) }
          reply = post("/v1/studies/#{@study}/#{kind}/batch", { "requests" => bodies }.to_json, SECONDS)
          if [413, 422].include?(reply.status) && messages.size > 1
            together = [messages.size / 2, 1].max
            break
          end
          return reply.retry_after unless settle(kind, batch, reply)
        end
        messages.select { |message| message["kind"] == "leave" }.each do |message|
          reply = post("/v1/studies/#{@study}/leave", { "ticket" => message["ticket"] }.to_json, SECONDS)
          left = reply.status == 200 && reply.body.is_a?(Hash) && reply.body["status"] == "left"
          return reply.retry_after unless left || code_of(reply.body) == "unknown_ticket"

          @outbox.settle([message])
        end
      end
      nil
    end

    # Whether each of a batch has its answer; those that have it wait no more.
    def settle(kind, batch, reply)
      verdicts = read_verdicts(kind, batch, reply) or return false
      answered = batch.zip(verdicts).reject { |_, verdict| verdict.nil? }
      @outbox.settle(answered.map(&:first))
      answered.each { |_, verdict| refused[verdict] += 1 if verdict != "" }
      answered.size == batch.size
    end

    # Of each message "" if it counts, the code of a refusal, or nil if nobody knows; nil of all if this is no answer.
    def read_verdicts(kind, batch, reply)
      return [code_of(reply.body)] if reply.status == 422 && batch.size == 1 && code_of(reply.body) != ""

      items = reply.status == 200 && reply.body.is_a?(Hash) ? reply.body["items"] : nil
      return nil unless items.is_a?(Array) && items.size == batch.size

      good = kind == "expose" ? %w[exposed] : %w[accepted duplicate]
      items.map do |item|
        next nil unless item.is_a?(Hash)

        answer, code = item["answer"], code_of(item["problem"])
        next "" if item["status"] == 200 && answer.is_a?(Hash) && good.include?(answer["status"])
        next code if %w[conflict late unknown_ticket not_exposed].include?(code)

        (code == "" ? "invalid_value" : code) if item["status"] == 422
      end
    end
  end
end
