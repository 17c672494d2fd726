# frozen_string_literal: true

# A person's device under local trust, by docs/another_language.md. It needs no gem.

require "fileutils"
require "json"
require "net/http"
require_relative "masked_bandit_reports"

module MaskedBandit
  # The service gave no answer.
  class Away < StandardError; end

  # The device of one person: a folder with one book, which is written before anything is shown or sent.
  class Device
    NETWORK = [SystemCallError, IOError, SocketError, Timeout::Error, Net::ProtocolError, OpenSSL::SSL::SSLError].freeze
    CLOCK = -> { Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond) }
    DAY = 86_400_000

    # `epsilon` is what all studies of this device may cost together, `least` the fewest people of a cohort.
    def initialize(folder, url, key, epsilon:, least: 1, pure: true, clock: CLOCK)
      @folder, @url, @key, @least, @pure, @clock = folder, url.chomp("/"), key, least, pure, clock
      @epsilon = Rational(epsilon.to_s)
      @file = File.join(folder, "book.json")
    end

    # The person takes part in studies; or takes it back, which is to leave all of them.
    def consent(agrees)
      return unless agrees || File.exist?(@file)

      FileUtils.mkdir_p(@folder, mode: 0o700).each { |folder| File.chmod(0o700, folder) }
      change_book do |book|
        book["consent"] = agrees
        book["places"].each { |entry| forget(entry) } unless agrees
      end
      send_due { |entry| news(entry) }
    end

    # The arm that the person sees, and its payload: from the book, or from the service, which then gives a place. The
    # attributes are what rules of the study on who is enrolled are about: texts, numbers, true and false.
    def assign(study, unit, token, attributes = nil)
      Place::STUDY.match?(study) or MaskedBandit.refuse("study", "#{study.inspect}, which is no name of one")
      change_agreed_book do |book|
        entry = find(book, study)
        MaskedBandit.refuse("study", "#{study}, which the person left") if entry && !entry.key?("arm")
        next entry.slice("arm", "payload") if entry

        status, answer = post("/v1/studies/#{study}/assign", { unit:, token:, attributes: }.compact.to_json)
        raise Away, "status #{status}" unless answer.key?(status == 200 ? "arm" : "code")

        MaskedBandit.refuse(answer["code"], "the service gives no arm of #{study}") if status != 200
        take(book, study, answer) if answer["device"]
        answer.slice("arm", "payload")
      end
    end

    # The person sees the arm: from now on outcomes count, until the window is over.
    def expose(study)
      change_agreed_book do |book|
        entry = find(book, study)
        entry["exposed"] ||= @clock.call if entry && entry["state"] == "open"
      end
      send_due { |entry| news(entry) }
    end

    # What became of the person, into the book and nowhere else; whether it counts.
    def record(study, value, metric = "")
      change_agreed_book do |book|
        entry = find(book, study)
        next false unless entry && entry["state"] == "open" && entry["exposed"] && late(entry) <= 0 && !entry["reports"]

        held = entry["held"][metric]
        entry["held"][metric] = Place.new(entry["place"], pure: false).add(metric, held && Rational(held), value).to_s
        true
      end
    end

    # Send what is due: call it when the application runs, and never because something happened.
    def contact
      send_due { |entry| news(entry) }
      send_due { |entry| reports(entry) }
    end

    # Erase a study here at once, but for the fact that there was a place, and at the service when it answers.
    def leave(study)
      change_book { |book| forget(find(book, study)) } if File.exist?(@file)
      send_due { |entry| news(entry) }
    end

    # For the person: the studies, their arms and costs, what was sent, and what the service answered.
    def show = File.exist?(@file) ? change_book { |book| book["places"].map { |e| e.except("ticket", "place") } } : []

    private

    def find(book, study) = book["places"].find { |entry| entry["study"] == study }
    def late(entry) = @clock.call - entry["exposed"] - entry["place"]["window"]
    def finish(entry, state) = entry.update("state" => state, "held" => {})

    def forget(entry)
      return if entry.nil? || %w[leaving left].include?(entry["state"])

      entry.update("state" => "leaving").keep_if { |name, _| %w[study protocol epsilon state ticket].include?(name) }
    end

    def take(book, study, answer)
      given = answer["device"]
      place = Place.new(given, least: @least, pure: @pure)
      same = %w[study arm ticket].all? { |name| given[name] == answer[name] } && given["study"] == study
      same or MaskedBandit.refuse("place", "that of another person or study")
      protocol, exposed, now = given["terms"]["protocol"], given["exposed"], @clock.call
      had = book["places"].any? { |entry| entry["protocol"] == protocol }
      MaskedBandit.refuse("study", "#{study}, in which there was a place by another name") if had
      over = exposed && (exposed > now + DAY || exposed + given["window"] + given["grace"] < now)
      MaskedBandit.refuse("exposed of a place", "#{exposed}, and it is #{now} by this clock") if over
      spent = book["places"].sum { |entry| Rational(entry["epsilon"]) }
      fine = spent + place.epsilon <= @epsilon
      fine or MaskedBandit.refuse("epsilon", "#{place.epsilon} after #{spent}, the person agreed to #{@epsilon}")
      book["places"] << {
        "study" => study, "protocol" => protocol, "epsilon" => place.epsilon.to_s, "ticket" => given["ticket"],
        "state" => given["again"] ? "elsewhere" : "open", "arm" => answer["arm"], "payload" => answer["payload"],
        "exposed" => exposed && [exposed, now].min, "told" => !exposed.nil?, "held" => {}, "place" => given
      }
    end

    # What the service is to be told of a place besides its reports.
    def news(entry)
      return [["leave", { ticket: entry["ticket"] }.to_json]] if entry["state"] == "leaving"

      unheard = entry["state"] == "open" && entry["exposed"] && !entry["told"]
      unheard ? [["expose", { ticket: entry["ticket"] }.to_json]] : []
    end

    # The reports that are due: drawn at the first contact after the window, and the same ones ever after.
    def reports(entry)
      return [] unless entry["state"] == "open" && entry["told"] && late(entry) >= 0

      finish(entry, "missed") if late(entry) > entry["place"]["grace"]
      return [] if entry["state"] == "missed"

      entry["reports"] ||= draw(entry).map { |body| { "body" => body, "answer" => nil } }
      entry["reports"].reject { |report| report["answer"] }.map { |report| ["report", report["body"]] }
    end

    def draw(entry)
      held = entry["held"].transform_values { |text| Rational(text) }
      proofs = Array.new(2) { SecureRandom.hex(16) }
      Place.new(entry["place"], pure: false).draw(entry["ticket"], held, Noise.new, proofs)
    end

    # Write down what is due, then send it, each once, and write down what is answered.
    def send_due
      return unless File.exist?(@file)

      due = change_book { |book| book["places"].flat_map { |e| yield(e).map { |message| [e["study"], *message] } } }
      due.each do |study, what, body|
        status, answer = post("/v1/studies/#{study}/#{what}", body, key: what != "leave")
        change_book { |book| settle(find(book, study), what, body, answer[status == 200 ? "status" : "code"]) }
      rescue Away
        next # and the next contact tries again
      end
      nil
    end

    def settle(entry, what, body, said)
      if what == "leave"
        entry.update("state" => "left").delete("ticket") if %w[left unknown_ticket].include?(said)
      elsif entry["state"] == "open"
        entry["told"] = true if said == "exposed"
        report = entry["reports"]&.find { |each| each["body"] == body }
        report["answer"] = said if report && %w[accepted duplicate conflict late unknown_ticket].include?(said)
        finish(entry, "settled") if report && entry["reports"].all? { |each| each["answer"] }
        finish(entry, said) if %w[late unknown_ticket].include?(said)
      end
    end

    # The status of an answer, and what it says: one attempt, by no proxy of the environment.
    def post(path, body, key: true)
      uri = URI(@url + path)
      request = Net::HTTP::Post.new(uri, "Content-Type" => "application/json")
      request["Authorization"] = "Bearer #{@key}" if key
      request.body = body
      once = { use_ssl: uri.scheme == "https", max_retries: 0, open_timeout: 10, read_timeout: 10 }
      answer = Net::HTTP.start(uri.host, uri.port, nil, once) { |http| http.request(request) }
      said = JSON.parse(answer.body.to_s)
      [answer.code.to_i, said.is_a?(Hash) ? said : {}]
    rescue *NETWORK, JSON::ParserError => e
      raise Away, e.class.name
    end

    def change_agreed_book
      File.exist?(@file) or MaskedBandit.refuse("consent", "the person did not agree")
      change_book { |book| book["consent"] ? yield(book) : MaskedBandit.refuse("consent", "the person took it back") }
    end

    # One process at a time reads the book, and writes what is new: whole, or not at all.
    def change_book
      File.open(File.join(@folder, "lock"), File::RDWR | File::CREAT, 0o600) do |lock|
        lock.flock(File::LOCK_EX)
        old = File.exist?(@file) ? File.read(@file, encoding: "UTF-8") : ""
        book = old.empty? ? { "consent" => false, "places" => [] } : JSON.parse(old)
        answer = yield book
        write_book(book.to_json) unless book.to_json == old
        answer
      end
    end

    def write_book(text)
      File.open("#{@file}.new", File::WRONLY | File::CREAT | File::TRUNC, 0o600) do |file|
        file.write(text)
        file.fsync
      end
      File.rename("#{@file}.new", @file)
      File.open(@folder, &:fsync)
    end
  end
end
